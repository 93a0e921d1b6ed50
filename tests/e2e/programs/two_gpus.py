"""Launches on two GPUs in turn from one thread, and waits for each; on the simulated GPU (SIMGPU_DEVICES=2)."""

import ctypes

cudart = ctypes.CDLL("libcudart.so.13")
driver = ctypes.CDLL("libcuda.so.1")
driver.sim_kernel.restype = ctypes.c_void_p
cudart.cudaLaunchKernel.argtypes = [ctypes.c_void_p] + [ctypes.c_uint] * 6 + [ctypes.c_void_p, ctypes.c_size_t,
                                                                            ctypes.c_void_p]


def check(error):
    assert error == 0, error


def work(device, kernel):
    check(cudart.cudaSetDevice(device))
    for _ in range(3 + device):
        check(cudart.cudaLaunchKernel(driver.sim_kernel(kernel), 1, 1, 1, 32, 1, 1, None, 0, None))
    check(cudart.cudaDeviceSynchronize())


for step in range(5):
    work(0, b"first_20us")
    work(1, b"second_30us")
