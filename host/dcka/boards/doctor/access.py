"""A port: is it there, may this user open it, and has somebody else got it? Nothing is opened to find out."""

import grp
import os
import pwd
import stat
from dataclasses import dataclass

from dcka.boards.doctor.verdicts import Check, ok, wrong
from dcka.boards.ports import PortInfo, holder
from dcka.boards.usb import usb_chip


@dataclass(frozen=True)
class Access:
    """A port as the system has it. `there`: the device exists. `may_open`: this process may read and write it.

    `group`: the group that may, None where there is none; `member`: the user belongs to it on paper. `holder`: the
    program that has it open, as "minicom (pid 123)".
    """

    there: bool
    is_device: bool = True
    may_open: bool = True
    group: str | None = None
    member: bool = False
    holder: str | None = None


def access_to(path: str) -> Access:
    """The facts of a port, from the system."""
    try:
        status = os.stat(path)
    except OSError:
        return Access(there=False)
    group = None
    if status.st_mode & 0o060 == 0o060:
        group = _group(status.st_gid)
    return Access(
        there=True,
        is_device=stat.S_ISCHR(status.st_mode),
        may_open=os.access(path, os.R_OK | os.W_OK),
        group=group if group not in ("root", "wheel") else None,
        member=group is not None and _is_member(status.st_gid),
        holder=holder(path),
    )


def check_there(port: PortInfo, access: Access) -> Check:
    """Is there such a port?"""
    if not access.there:
        return wrong(
            "port",
            f"there is no port {port.path}",
            "plug the board in, and look at dcka board list --quick: ports change their names",
        )
    if not access.is_device:
        return wrong(
            "port", f"{port.path} is no serial port", "dcka board list --quick shows those that there are"
        )
    chip = usb_chip(port.vid, port.pid)
    return ok("port", f"{port.path} is there" + (f", a {chip.name}" if chip else ""))


def check_permission(port: PortInfo, access: Access) -> Check:
    """May this user open it? On most systems it belongs to the group dialout, on Arch to uucp."""
    if access.may_open:
        return ok("permission", "you may open it")
    says = f"you may not open {port.path}"
    if access.group is None:
        return wrong(
            "permission",
            f"{says}: it is for its owner alone",
            f"for now: sudo chmod a+rw {port.path}; for good, a udev rule: "
            'SUBSYSTEM=="tty", GROUP="dialout", MODE="0660"',
        )
    if access.member:
        return wrong(
            "permission",
            f"{says}: you have joined the group {access.group}, but not in this session",
            "log out and in again; for this terminal alone: newgrp " + access.group,
        )
    return wrong(
        "permission",
        f"{says}: it is for the group {access.group}",
        f"join it: sudo usermod -aG {access.group} $USER, then log out and in again",
    )


def check_busy(port: PortInfo, access: Access) -> Check:
    """Has another program got it?"""
    if access.holder is None:
        return ok("busy", "no other program has it")
    pid = access.holder.rpartition("(pid ")[2].rstrip(")")
    return wrong(
        "busy",
        f"{port.path} is in use by {access.holder}",
        f"close that program; where it hangs: kill {pid}" if pid.isdigit() else "close that program",
    )


def check_access(port: PortInfo, access: Access) -> list[Check]:
    """All of it, as far as it can be known."""
    checks = [check_there(port, access)]
    if checks[0].verdict == "ok":
        checks += [check_permission(port, access), check_busy(port, access)]
    return checks


def _group(number: int) -> str | None:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return None


def _is_member(number: int) -> bool:
    """Whether the user database has this user in the group, whatever this session knows of it."""
    try:
        name = pwd.getpwuid(os.getuid())
        return number == name.pw_gid or name.pw_name in grp.getgrgid(number).gr_mem
    except KeyError:
        return False
