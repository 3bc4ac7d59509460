/*
 * A Lua state with bounds: on steps, on memory, and on the CPU time of its thread.
 *
 * A step is an instruction of Lua, or an equal amount of work of one of its functions. Lua's hook
 * runs between instructions alone, so each function that works longer for more input charges its
 * steps itself. New memory counts as work, too.
 *
 * A bound that is passed is an error in Lua, which no script can catch: there is no pcall. One
 * state is for one run, on one thread.
 */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum machine_bound { MACHINE_WITHIN, MACHINE_STEPS, MACHINE_TIME };

struct machine {
    lua_State *lua;
    size_t used, most;    /* bytes */
    int64_t steps;        /* that are left */
    int64_t (*cpu)(void); /* ms of CPU time of this thread; NULL: time has no bound */
    int64_t cpu_end;
    unsigned nested;           /* functions of C that are calling one of Lua's */
    enum machine_bound passed; /* the bound that ended the run */
};

/* An empty state, without functions. False: there is no memory for it. */
bool machine_init(struct machine *machine, size_t most);
void machine_done(struct machine *machine);

/* From now on the bounds hold: steps, bytes beyond what is used, ms of CPU time. */
void machine_bind(struct machine *machine, int64_t steps, size_t bytes, int64_t ms);

struct machine *machine_of(lua_State *lua);
/* Raises an error if the budget does not have so many steps. */
void machine_charge(lua_State *lua, size_t steps);
/* The work with so many bytes, as steps. */
void machine_charge_bytes(lua_State *lua, size_t bytes);
/* lua_call(), for functions of C whose frames are large: not too many of them inside each other. */
void machine_call(lua_State *lua, int n_arguments, int n_results);
/* Raises the error that the budget is used up. Called by a function of C. */
void machine_raise_steps(lua_State *lua);
