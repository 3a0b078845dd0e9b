"""Build backend of pyproject.toml (PEP 517): builds libheddle.so with CMake and packs it with the Python files into a wheel.
SPDX-License-Identifier: MIT"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(heddle VERSION ([0-9.]+)", (TOP / "CMakeLists.txt").read_text())[1]
INFO = f"heddle-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: heddle
Version: {VERSION}
Summary: Compile PTX to GPU machine code, run and validate it, without a GPU
License: MIT
Requires-Python: >=3.8
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
"""


def libraries(folder):
    """Where libheddle.so and libheddle-ptxrun.so are: built for speed in `folder`, or what HEDDLE_BUILD names."""
    built = os.environ.get("HEDDLE_BUILD")
    if not built:
        options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-DCMAKE_SHARED_LINKER_FLAGS=-s"]
        subprocess.run(["cmake", "-S", TOP, "-B", folder, *options], check=True)
        jobs = str(os.cpu_count() or 1)
        subprocess.run(["cmake", "--build", folder, "--target", "heddle_ptxrun", "-j", jobs], check=True)
    return pathlib.Path(built or folder) / "tools"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    name = f"heddle-{VERSION}-{tag}.whl"
    with tempfile.TemporaryDirectory() as folder:
        files = {f"heddle/{path.name}": path.read_bytes() for path in sorted((TOP / "tools/python/heddle").glob("*.py"))}
        made = libraries(folder)
        soname = "libheddle.so." + ".".join(VERSION.split(".")[:2])  # which the other one asks for
        files[f"heddle/{soname}"] = (made / "libheddle.so").read_bytes()
        files["heddle/libheddle-ptxrun.so"] = (made / "libheddle-ptxrun.so").read_bytes()
    files[f"{INFO}/METADATA"] = METADATA.encode()
    files[f"{INFO}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: heddle\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{INFO}/RECORD"] = (record + f"{INFO}/RECORD,,\n").encode()
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            wheel.writestr(path, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"heddle-{VERSION}"
    leave_out = re.compile(r"(^|/)(\.git|build[^/]*|shared|__pycache__)$")
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(TOP, name, filter=lambda entry: None if leave_out.search(entry.name) else entry)
        with tempfile.NamedTemporaryFile("w") as info:
            info.write(METADATA)
            info.flush()
            archive.add(info.name, f"{name}/PKG-INFO")
    return f"{name}.tar.gz"
