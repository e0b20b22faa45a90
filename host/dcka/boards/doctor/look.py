"""What a look at a board's files tells, in one answer, and the code that the board runs for it."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dcka.boards.errors import BoardError
from dcka.boards.repl import Repl

_LOOK_S = 20.0

# Names begin with `_d_`, as in board_code. Passwords stay on the board: whether there is one is told in their place.
_CODE = """\
import os,sys,json
def _d_t(n,m):
 try:
  with open(n) as f:return f.read(m)
 except OSError:return None
 except ValueError:return ''
def _d_s(n):
 try:return os.stat(n)[6]
 except OSError:return None
def _d_y(n):
 try:
  with open(n) as f:return json.load(f)
 except OSError:return None
 except ValueError:return ''
_d_r={'platform':sys.platform,'version':tuple(sys.implementation[1][:3]),'machine':getattr(sys.implementation,'_machine','')}
try:
 _d_v=os.statvfs('/');_d_r['room']=(_d_v[1]*_d_v[3],_d_v[1]*_d_v[2])
except OSError:_d_r['room']=None
if _d_r['room']:
 for _d_n,_d_m in (('stop',1),('failed.txt',20),('crash.txt',1500)):_d_r[_d_n]=_d_t('/'+_d_n,_d_m)
 _d_r['boot.py']=_d_s('/boot.py')
 _d_f=None
 try:
  with open('/main.py') as _d_h:
   _d_f=''
   for _d_l in _d_h:
    if _d_l[:12]=='FIRMWARE = "':_d_f=_d_l[12:].split('"')[0];break
 except OSError:pass
 _d_r['folder']=_d_f
 if _d_f:
  _d_c=_d_y(_d_f+'/node.json')
  for _d_p in (_d_c,_d_c.get('wifi'),_d_c.get('broker')) if isinstance(_d_c,dict) else ():
   if isinstance(_d_p,dict) and _d_p.get('password'):_d_p['password']=True
  _d_r['config']=_d_c
  _d_w=_d_y(_d_f+'/version.json')
  if isinstance(_d_w,dict):
   _d_r['missing']=[n for n in _d_w.get('files',()) if _d_s(_d_f+'/'+n) is None]
   _d_w.pop('files',0)
  _d_r['made']=_d_w
 try:
  with open('/data.bin','rb') as _d_h:_d_r['data']=(_d_h.read(20),_d_s('/data.bin'))
 except OSError:_d_r['data']=None
print(repr(_d_r))
"""


@dataclass(frozen=True)
class Look:
    """A board from within. `platform`: "esp32" on a chip. `room`: (free, all) bytes, None without a file system.

    `folder`: of the version that main.py starts; None without a main.py, "" where it is not ours. `config` is node.json
    and `made` version.json: an object, None where there is no such file, "" where it is no JSON; passwords are only
    True. `missing`: files that version.json names and the board lacks. `stopped`: there is a file /stop. `failed`:
    starts in a row that came to nothing. `crash`: the last traceback. `data`: (first 20 bytes, size) of data.bin.
    """

    platform: str
    version: tuple[int, int, int]
    machine: str
    room: tuple[int, int] | None
    boot_py: bool = False
    folder: str | None = None
    config: Any = None
    made: Any = None
    missing: tuple[str, ...] = ()
    stopped: bool = False
    failed: int = 0
    crash: tuple[str, ...] = field(default=())
    data: tuple[bytes, int] | None = None


def look(repl: Repl) -> Look:
    """Ask the board. Raises BoardError."""
    said = repl.run(_CODE, _LOOK_S)
    try:
        found = ast.literal_eval(said)
        return _look(found)
    except (ValueError, SyntaxError, KeyError, TypeError) as error:
        raise BoardError(
            f"{repl.port}: the board's answer was disturbed ({error!r}): does a second task write on the port?"
        ) from None


def _look(found: Mapping[str, Any]) -> Look:
    failed = (found.get("failed.txt") or "").strip()
    return Look(
        platform=found["platform"],
        version=found["version"],
        machine=found["machine"],
        room=_room(found["room"]),
        boot_py=bool(found.get("boot.py")),
        folder=found.get("folder"),
        config=found.get("config"),
        made=found.get("made"),
        missing=tuple(found.get("missing", ())),
        stopped=found.get("stop") is not None,
        failed=int(failed) if failed.isdigit() else 0,
        crash=tuple((found.get("crash.txt") or "").splitlines()),
        data=found.get("data"),
    )


def _room(told: tuple[int, int] | None) -> tuple[int, int] | None:
    """A LittleFS that is nearly full counts more blocks than it has as used, and what is free wraps around zero."""
    if told is None:
        return None
    free, total = told
    return (free if free <= total else 0), total
