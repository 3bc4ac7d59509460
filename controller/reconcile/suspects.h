/*
 * Which objects are under way, and which of them are suspected of the process' deaths: the table
 * behind quarantine.h, which has its rules. Pure; without a lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/strmap.h"
#include "engine/value/value.h"

/* Objects: with the longest names 190 kB, of the 256 KiB that annotations may have. */
#define LIMIT_SUSPECTS 500

enum suspect_phase {
    SUSPECT_WAITS, /* for its turn, or to be held */
    SUSPECT_TURN,  /* under way, and no other suspect begins */
    SUSPECT_BEGUN, /* under way; a suspect: its turn is over */
};

struct suspect {
    char *key;
    unsigned deaths; /* 0: it is under way, and no suspect */
    enum suspect_phase phase;
    int64_t begun_at; /* ms, monotonic: when it began, or got its turn */
    bool is_wanted;   /* it is there, and asks for its turn */
};

struct suspects {
    struct strmap by_key; /* of struct suspect */
    struct suspect *turn; /* who has it; NULL: nobody */
    unsigned deaths;      /* of processes, in a row */
};

void suspects_init(struct suspects *suspects);
void suspects_done(struct suspects *suspects);

/* NULL: it is unknown. */
struct suspect *suspects_find(const struct suspects *suspects, const char *key);
/* If there are as many as may be, another one is removed: of the namespace that has the most, or of
 * the key's own, if none has more; there of the least suspected the one that began first; never
 * one that has the turn. NULL: there is none to be removed. */
struct suspect *suspects_add(struct suspects *suspects, const char *key, unsigned deaths);
/* Accepts NULL. */
void suspects_remove(struct suspects *suspects, struct suspect *suspect);

/* The process died with this: who was under way is suspected of it, and waits; of those who were
 * suspects before, who had the turn, or was the only one under way. */
void suspects_bury(struct suspects *suspects);
/* Ends a turn whose time has passed. True: nobody has the turn. */
bool suspects_turn_is_free(struct suspects *suspects, int64_t now);
/* It does not begin after all, or does not go on, and waits; it does not ask any more. */
void suspects_stand_down(struct suspects *suspects, struct suspect *suspect);
size_t suspects_count_waiting(const struct suspects *suspects);
/* Nobody who waits is less suspected. */
bool suspects_is_next(const struct suspects *suspects, const struct suspect *suspect);
/* Whether somebody else began within so many ms. */
bool suspects_are_busy(const struct suspects *suspects, int64_t now, int64_t within);

/* What is recorded, and back; a value that is none of ours, in part or whole, is left out. */
const struct value *suspects_write(const struct suspects *suspects);
void suspects_read(struct suspects *suspects, const struct value *value);
