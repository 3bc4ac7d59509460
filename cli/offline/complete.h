/*
 * What may come next on a command line: for the shells' completion.
 */
#ifndef CLI_OFFLINE_COMPLETE_H
#define CLI_OFFLINE_COMPLETE_H

#include "cli/frame/command.h"

enum complete_more {
    COMPLETE_NOTHING,
    COMPLETE_FILES, /* the shell completes names of files */
    COMPLETE_SPECS, /* names of Specs, which the API server has */
};

typedef void on_candidate(void *arg, const char *candidate);

/* words: after the program's name; the last one is the one that is being written, perhaps "". */
enum complete_more complete_words(const struct cli *cli, const char *const *words, size_t n,
                                  on_candidate *fn, void *arg);

#endif
