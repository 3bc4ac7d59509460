/*
 * Makes the use of dangerous C functions a compile error (an idea of git's). CMake includes this
 * header before every source file of the project.
 */
#pragma once

/* System headers first: some of them name these functions in declarations. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#undef alloca /* a macro to glibc: poisoned as a name, below */

#pragma GCC poison strcpy strcat strncpy strncat stpcpy strtok
#pragma GCC poison sprintf vsprintf gets
#pragma GCC poison localtime localtime_r ctime ctime_r asctime asctime_r gmtime
#pragma GCC poison atoi atol atoll atof
#pragma GCC poison alloca mktemp tmpnam system popen
