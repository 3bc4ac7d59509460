/*
 * A Python script beside a test, with a folder of its own in /tmp as its argument. It ends when its
 * input does.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

struct script {
    char *folder;
    FILE *output;
    pid_t pid;
    int input;
};

void script_start(struct script *script, const char *path);
void script_done(struct script *script); /* ends it, and removes the folder */

/* The text of a file in its folder; free(). */
char *script_read(const struct script *script, const char *name);
