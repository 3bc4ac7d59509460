/*
 * One scenario of the contract of histories (history_contract.h): a Spec of its own, the history as
 * two processes have it, and what all scenarios do with them.
 *
 * The files history_contract_*.c have the scenarios, each file those of one subject.
 */
#pragma once

#include "test/unit/engine/contract_expect.h"
#include "test/unit/engine/history_contract.h"

struct history_scene {
    const struct history_fixture *fixture;
    const char *note; /* the scenario's name */
    struct release_history *history, *other;
    struct spec_key spec; /* whose records the functions below use */
    struct error error;   /* of the last call, until it is checked */
};

struct history_scenario {
    const char *name; /* the Spec's, too */
    void (*run)(struct history_scene *scene);
};
/* Each ends with a row without a name. */
extern const struct history_scenario history_contract_records[];
extern const struct history_scenario history_contract_revisions[];
extern const struct history_scenario history_contract_failures[];

/* ---- Calls ---- */

/* An Apply of generation 4. */
struct release_head history_scene_head(const struct history_scene *scene, int64_t revision);
/* The status of a record in this phase; value_unref(). */
const struct value *history_scene_status(int64_t revision, enum release_phase phase);

/* In the first process. */
int history_scene_try_create(struct history_scene *scene, int64_t revision,
                             const struct store_call *call, char **ret_version);
int history_scene_try_update(struct history_scene *scene, struct release_history *history,
                             int64_t revision, enum release_phase phase,
                             const struct store_call *call, char **version);
int history_scene_load(struct history_scene *scene, struct release_history *history,
                       int64_t revision, struct release_record **ret, char **ret_version);
int history_scene_remove(struct history_scene *scene, int64_t revision,
                         const struct store_call *call);
int history_scene_remove_ended(struct history_scene *scene, int64_t revision);

/* These succeed, or fail the test. create: the version; free(). */
char *history_scene_create(struct history_scene *scene, int64_t revision);
void history_scene_update(struct history_scene *scene, int64_t revision, enum release_phase phase,
                          char **version);

/* ---- Checks ---- */

static inline void expect_code(struct history_scene *scene, int actual, int expected,
                               const char *what)
{
    contract_expect_code(scene->note, &scene->error, actual, expected, what);
    err_clear(&scene->error);
}

static inline void expect_ok(struct history_scene *scene, int actual, const char *what)
{
    expect_code(scene, actual, 0, what);
}

static inline void expect_true_of(struct history_scene *scene, bool holds, const char *what)
{
    contract_expect(scene->note, holds, what);
}

/* As history_scene_create() and history_scene_update() made it. */
void history_scene_expect_record(struct history_scene *scene, const struct release_record *record,
                                 int64_t revision, enum release_phase phase, const char *what);
/* The same as a process loads it that begins now. revision 0: the newest. */
void history_scene_expect_kept(struct history_scene *scene, int64_t revision,
                               enum release_phase phase, const char *what);
void history_scene_expect_none(struct history_scene *scene, int64_t revision, const char *what);
