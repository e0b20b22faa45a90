"""What we let a board run: MicroPython 1.23 and later, in a heap of which little is free.

Each text is run through the raw REPL, where names stay until the next restart: ours begin with `_d_`. `HELPERS` comes
before all that use it. Files are read in blocks, so that none has to fit the heap.
"""

# Modules and names of the program that was stopped: without them its objects are waste.
EMPTY_HEAP = """\
import gc,sys
gc.threshold(-1)
for _d_n in list(sys.modules):
 if _d_n!='__main__':sys.modules.pop(_d_n,0)
for _d_n in list(globals()):
 if _d_n[:2]!='__' and _d_n not in('gc','sys','_d_n'):globals().pop(_d_n,0)
gc.collect()
"""

# boot.py has counted the start that we interrupted as one that came to nothing; it counts the next one again.
UNCOUNT_START = """\
try:
 with open('/failed.txt') as _d_f:_d_n=int(_d_f.read())
 if 0<_d_n<5:
  with open('/failed.txt','w') as _d_f:_d_f.write(str(_d_n-1))
except (OSError,ValueError):pass
"""

# The last but one: whether the file system is FAT. `vfs.mount()` tells since 1.25; before, the flash's first bytes do.
FACTS = """\
import sys,os,gc
from binascii import hexlify
try:
 import machine
 _d_u=hexlify(machine.unique_id()).decode()
except (ImportError,AttributeError):_d_u=None
try:
 _d_s=os.statvfs('/')[1:4]
 if not _d_s[1]:_d_s=None
except OSError:_d_s=None
_d_k=''
try:
 import vfs
 _d_k=str(vfs.mount())
except (ImportError,TypeError):
 try:
  from flashbdev import bdev
  _d_k=bytearray(64);bdev.readblocks(0,_d_k,0);_d_k=str(bytes(_d_k))
 except Exception:pass
gc.collect()
_d_i=sys.implementation
_d_k='VfsFat' in _d_k or 'MSDOS' in _d_k
print(repr((tuple(_d_i[1][:3]),getattr(_d_i,'_machine',''),getattr(_d_i,'_mpy',0),_d_u,_d_s,_d_k,gc.mem_free())))
"""

# _d_h: (size, SHA-256) of a file, None where there is none. _d_l: each file of a tree in a line of its own.
# _d_m: make the folders above a path. _d_x: remove a tree. _d_v: put PATH.new in the place of PATH if it has this size
# and digest; else remove it, and return what it has.
HELPERS = """\
import os,gc
from hashlib import sha256
from binascii import hexlify,a2b_base64
_d_b=memoryview(bytearray(512))
def _d_h(p,n=-1):
 h=sha256();s=0
 try:
  with open(p,'rb') as f:
   while s!=n:
    k=f.readinto(_d_b if n<0 else _d_b[:min(512,n-s)])
    if not k:break
    h.update(_d_b[:k]);s+=k
 except OSError as e:
  if e.errno!=2:raise
  return None
 return s,hexlify(h.digest()).decode()
def _d_l(p):
 for e in os.ilistdir(p or '/'):
  q=p+'/'+e[0]
  if e[1]&0x4000:_d_l(q)
  else:print(repr((q,)+_d_h(q)))
def _d_m(p):
 for i in range(1,len(p)):
  if p[i]=='/':
   try:os.mkdir(p[:i])
   except OSError as e:
    if e.errno!=17:raise
def _d_x(p):
 try:
  if os.stat(p)[0]&0x4000:
   for e in list(os.ilistdir(p)):_d_x(p+'/'+e[0])
   os.rmdir(p)
  else:os.remove(p)
 except OSError as e:
  if e.errno!=2:raise
def _d_v(p,s,d):
 t=_d_h(p+'.new')
 if t!=(s,d):
  _d_x(p+'.new')
  return t or (0,'')
 os.rename(p+'.new',p)
"""

# The folder of the version that main.py starts, as main.py has it: '' for a main.py that is not ours, None for none.
# Then what node.json and version.json say, without a password; then all files of all versions, boot.py and main.py.
INSTALLED = """\
from json import load as _d_j
_d_p=None
try:
 with open('/main.py') as _d_f:
  _d_p=''
  for _d_t in _d_f:
   if _d_t[:12]=='FIRMWARE = "':_d_p=_d_t[12:].split('"')[0];break
except OSError:pass
def _d_k(n,*k):
 try:
  with open(_d_p+'/'+n) as f:
   r=_d_j(f)
  return tuple(r.get(x) for x in k)
 except (OSError,ValueError,AttributeError):return (None,)*len(k)
print(repr((_d_p,)+(_d_k('node.json','network','node')+_d_k('version.json','firmware','mpy') if _d_p else (None,)*4)))
for _d_t in list(os.ilistdir('/')):
 _d_q='/'+_d_t[0]
 if _d_t[1]&0x4000:
  if _d_t[0][:3]=='fw-' and len(_d_t[0])==15:_d_l(_d_q)
 elif _d_q in('/boot.py','/main.py','/boot.py.new','/main.py.new'):print(repr((_d_q,)+_d_h(_d_q)))
"""

# _d_o: begin a file, or go on with it. _d_w: add a piece. _d_e: end it.
WRITE = """\
def _d_o(p,m):
 global _d_f
 _d_m(p);_d_f=open(p,m)
def _d_w(s,flush):
 _d_f.write(a2b_base64(s))
 if flush:_d_f.flush()
def _d_e():_d_f.close()
"""

COPY = """\
def _d_c(a,p):
 _d_m(p)
 with open(a,'rb') as f:
  with open(p+'.new','wb') as g:
   while 1:
    k=f.readinto(_d_b)
    if not k:break
    g.write(_d_b[:k])
"""
