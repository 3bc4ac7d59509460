/*
 * Reads the sources of a Spec (sources.h) as a task of the executor, in stages that the attempt
 * begins. The end of each puts the key into the queue.
 */
#pragma once

#include <pthread.h>

#include "controller/desk/desk.h"
#include "controller/reconcile/inputs/source_text.h"
#include "controller/reconcile/inputs/spec_source.h"

/* The stages follow one another; after SOURCES_READING, SOURCES_SIZING may come again. */
enum source_stage {
    SOURCES_SIZING,  /* the task's */
    SOURCES_SIZED,   /* the attempt's */
    SOURCES_READING, /* the task's */
    SOURCES_READ,    /* the attempt's */
};

struct source_reading {
    pthread_mutex_t lock; /* guards the next four; what is below belongs to who has the stage */
    enum source_stage stage;
    bool is_working;          /* a thread is at it */
    struct desk_entry *entry; /* NULL: dropped */
    int64_t not_before;       /* ms, monotonic: the task's next stage begins */

    bool is_recalled; /* what is read next is expected to be as it was before */
    struct run run;   /* a copy: the attempt's is freed meanwhile */
    struct cancel *cancel;
    struct task *task;

    struct spec_sources list;
    char digest[HASH_HEX_SIZE];    /* of the contents; "": they could not be read */
    const struct value *resources; /* a reference */
    size_t memory;                 /* bytes that the resources take */
    int64_t read_at;               /* ms, monotonic */
    int r;
    struct error problem;
};

/* The first stage begins with its first source_reading_go_on(). The run is copied. */
struct source_reading *source_reading_new(const struct run *run, struct desk_entry *entry);
/* Ends it. NULL: nothing. */
void source_reading_drop(struct source_reading *sources);

enum source_stage source_reading_stage(struct source_reading *sources);
/* The next stage of the task. not_before: ms, monotonic. */
void source_reading_go_on(struct source_reading *sources, enum source_stage stage,
                          int64_t not_before);
