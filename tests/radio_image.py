"""What a guest with simulated radios is made of.

Debian's kernel and its modules from the tests' cache; iw, ip, busybox and perl of this machine.
"""

import lzma
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

FETCH = ".ci/fetch-kernel"
# Channel contexts, as most of today's radios have them: without them a simulated monitor also hears
# the channel on which it came up.
PARAMETERS = "radios=4 channels=2"
WANTED = ("virtio_pci", "virtio_console", "af_packet", "mac80211_hwsim")
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "busybox": "busybox-static",
    "iw": "iw",
    "ip": "iproute2",
    "perl": "perl-base",
    "ldd": "libc-bin",
    "setpriv": "util-linux",
}
IN_GUEST = ("busybox", "iw", "ip", "perl")

INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin 2>/dev/null
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
while read -r module; do
  case $module in
    *mac80211_hwsim.ko) insmod "$module" {PARAMETERS};;
    *) insmod "$module";;
  esac
done < /modules/order
until [ -e /dev/vport0p1 ] || [ -e /dev/vport1p1 ]; do usleep 10000; done
exec /agent /dev/vport?p1
"""

AGENT = """#!/bin/busybox sh
# Every line is "NUMBER SHELL-COMMAND"; the answer is "NUMBER EXIT BASE64-OUTPUT BASE64-ERRORS".
exec 3<>"$1"
echo "0 0  " >&3
while read -r number command <&3; do
  (
    file=/tmp/$number
    eval "$command" >$file.out 2>$file.err 3>&- </dev/null
    code=$?
    echo "$number $code $(base64 -w0 $file.out) $(base64 -w0 $file.err)" > $file
    cat $file >&3  # in one piece, for others answer too
    rm $file $file.out $file.err
  ) &
done
"""


def kernel_folder() -> Path:
    """Where the kernel and its modules are kept between runs."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "tacan-tests" / "kernel"


def program(name: str) -> str | None:
    """Its path, also for those whose PATH leaves out the administrator's programs."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def missing() -> str:
    """What this machine lacks for simulated radios, as a sentence; empty if nothing."""
    if platform.machine() != "x86_64":
        return f"the radios' guest is made for x86_64, and this machine is {platform.machine()}"
    lacking = [package for name, package in PROGRAMS.items() if program(name) is None]
    if lacking:
        return f"the radios' guest needs programs: apt-get install {' '.join(lacking)}"
    if not any(kernel_folder().glob("boot/vmlinuz-*")):
        return f"no kernel in {kernel_folder()}: {FETCH} puts Debian's there"
    return ""


def kernel() -> Path:
    return max(kernel_folder().glob("boot/vmlinuz-*"))


def build_initramfs(folder: Path) -> Path:
    """A cpio archive with everything that the guest needs, made in this folder."""
    tree = folder / "tree"
    for name in ("bin", "dev", "proc", "sys", "tmp", "run", "modules"):
        (tree / name).mkdir(parents=True)
    for name in IN_GUEST:
        _copy_program(name, tree)
    paths = []
    for name, content in _modules_in_order():
        paths.append(f"/modules/{name}.ko")
        (tree / paths[-1][1:]).write_bytes(content)
    (tree / "modules" / "order").write_text("\n".join(paths) + "\n")
    for name, script in (("init", INIT), ("agent", AGENT)):
        (tree / name).write_text(script)
        (tree / name).chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    archive = folder / "initramfs"
    with archive.open("wb") as out:
        subprocess.run(
            [str(program("busybox")), "cpio", "-o", "-H", "newc"],
            input=names.encode(),
            stdout=out,
            stderr=subprocess.DEVNULL,
            cwd=tree,
            check=True,
        )
    return archive


def _copy_program(name: str, tree: Path) -> None:
    """With the libraries that it is linked to, each where its loader looks for it."""
    path = str(program(name))
    shutil.copy(path, tree / "bin" / name)
    linked = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
    for library in re.findall(r"(/\S+) \(0x", linked):
        target = tree / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)


def _modules_in_order() -> list[tuple[str, bytes]]:
    """The wanted modules and what they depend on, dependencies first."""
    found = {_module_name(path): path for path in kernel_folder().rglob("*.ko*")}
    (listing,) = kernel_folder().rglob("modules.builtin")
    builtin = {_module_name(Path(line)) for line in listing.read_text().split()}
    ordered: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in ordered or name in builtin:
            return
        if name not in found:
            raise FileNotFoundError(f"{kernel_folder()} lacks the module {name}: see {FETCH}")
        content = found[name].read_bytes()
        if found[name].suffix == ".xz":
            content = lzma.decompress(content)
        depends = re.search(rb"\0depends=([^\0]*)\0", content)
        for needed in depends.group(1).decode().split(",") if depends else ():
            if needed:
                add(needed.replace("-", "_"))
        ordered[name] = content

    for wanted in WANTED:
        add(wanted)
    return list(ordered.items())


def _module_name(path: Path) -> str:
    return path.name.partition(".ko")[0].replace("-", "_")
