/*
 * old-glibc.h: included into every file of the simulated GPU, because it is also loaded in the roots of older Debian
 * suites (tests/roots). Binds the symbols that glibc 2.32 and 2.34 moved from libdl and libpthread to libc to their
 * older version, which old and new glibc have.
 */
#pragma once

#if defined(__x86_64__)
#define BIND(symbol, version) __asm__(".symver " #symbol ", " #symbol "@GLIBC_" version)
#else
#define BIND(symbol, version) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.17")
#endif

BIND(dladdr, "2.2.5");
BIND(dlclose, "2.2.5");
BIND(dlerror, "2.2.5");
BIND(dlopen, "2.2.5");
BIND(dlsym, "2.2.5");
BIND(pthread_create, "2.2.5");
BIND(pthread_detach, "2.2.5");
BIND(pthread_getspecific, "2.2.5");
BIND(pthread_join, "2.2.5");
BIND(pthread_key_create, "2.2.5");
BIND(pthread_once, "2.2.5");
BIND(pthread_setname_np, "2.12");
BIND(pthread_setspecific, "2.2.5");
BIND(pthread_sigmask, "2.2.5");

#undef BIND
