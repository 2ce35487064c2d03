"""What this machine's driver can do: memory of one process in another (CUDA IPC), and green contexts."""

import ctypes
import subprocess
import sys

LIBRARY = "libcuda.so.1"
SM = 1  # CU_DEV_RESOURCE_TYPE_SM
DEFAULT_STREAM = 1  # CU_GREEN_CTX_DEFAULT_STREAM


class Refused(Exception):
    pass


def call(cuda, name, *arguments):
    if not hasattr(cuda, name):
        raise Refused(f"{name} is not in this driver")
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        raise Refused(f"{name}: error {code}")


def context(cuda):
    device, made = ctypes.c_int(), ctypes.c_void_p()
    call(cuda, "cuInit", 0)
    call(cuda, "cuDeviceGet", ctypes.byref(device), 0)
    call(cuda, "cuDevicePrimaryCtxRetain", ctypes.byref(made), device)
    call(cuda, "cuCtxSetCurrent", made)
    return device


class Handle(ctypes.Structure):  # CUipcMemHandle
    _fields_ = [("bytes", ctypes.c_char * 64)]


def opened(cuda, hexadecimal):
    """In the other process."""
    context(cuda)
    handle = Handle.from_buffer_copy(bytes.fromhex(hexadecimal))
    pointer = ctypes.c_uint64()
    call(cuda, "cuIpcOpenMemHandle_v2", ctypes.byref(pointer), handle, 1)


def memory_between_processes(cuda):
    context(cuda)
    pointer, handle = ctypes.c_uint64(), Handle()
    call(cuda, "cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(1 << 21))
    call(cuda, "cuIpcGetMemHandle", ctypes.byref(handle), pointer)
    answer = subprocess.run([sys.executable, "-B", __file__, ctypes.string_at(ctypes.byref(handle), 64).hex()],
                            capture_output=True, text=True, timeout=8)
    if answer.returncode != 0:
        raise Refused(answer.stdout.strip() or answer.stderr.strip()[-200:])
    return "yes"


def green_contexts(cuda):
    """Four parts of the multiprocessors, and a context of the first."""
    device = context(cuda)
    resource = ctypes.create_string_buffer(4096)  # CUdevResource, with room for every version of it
    parts = [ctypes.create_string_buffer(4096)]
    call(cuda, "cuDeviceGetDevResource", device, resource, SM)
    multiprocessors = ctypes.c_uint.from_buffer(resource, 96).value  # behind the type and what is private
    groups, rest = ctypes.c_uint(1), ctypes.create_string_buffer(4096)
    quarter = max(multiprocessors // 4 // 8 * 8, 8)
    call(cuda, "cuDevSmResourceSplitByCount", parts[0], ctypes.byref(groups), resource, rest, 0, quarter)
    got = ctypes.c_uint.from_buffer(parts[0], 96).value
    description, green = ctypes.c_void_p(), ctypes.c_void_p()
    call(cuda, "cuDevResourceGenerateDesc", ctypes.byref(description), parts[0], 1)
    call(cuda, "cuGreenCtxCreate", ctypes.byref(green), description, device, DEFAULT_STREAM)
    return f"yes: {got} of {multiprocessors} SMs for {quarter} asked for"


def main():
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError as problem:
        print(f"| driver | {problem} |")
        return
    if len(sys.argv) > 1:
        try:
            opened(cuda, sys.argv[1])
        except Refused as problem:
            sys.exit(print(problem) or 1)
        return
    for what, asks in (("CUDA IPC between processes", memory_between_processes), ("green contexts", green_contexts)):
        try:
            answer = asks(cuda)
        except (Refused, subprocess.TimeoutExpired) as problem:
            answer = f"no: {problem}"
        print(f"| {what} | {answer} |", flush=True)


main()
