/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The agent is loaded into whatever glibc the target has, 2.17 and later. Functions whose default version is newer than
 * that are bound to the old one, which every later glibc still has. Include it wherever one of them is called;
 * tests/unit/agent_library.sh finds omissions.
 */
#pragma once

#if defined(__x86_64__)
#define OLD_GLIBC(symbol) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define OLD_GLIBC(symbol) __asm__(".symver " #symbol ", " #symbol "@GLIBC_2.17")
#endif

OLD_GLIBC(dladdr);
OLD_GLIBC(dlclose);
OLD_GLIBC(dlopen);
OLD_GLIBC(dlsym);
OLD_GLIBC(pthread_create);
OLD_GLIBC(pthread_detach);
OLD_GLIBC(pthread_key_create);
OLD_GLIBC(pthread_setspecific);
OLD_GLIBC(pthread_sigmask);
