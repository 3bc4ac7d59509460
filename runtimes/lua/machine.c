#include "runtimes/lua/machine.h"

#include <stdlib.h>

#include "engine/base/cleanup.h"

/* Instructions between two looks at the bounds. */
#define HOOK_INTERVAL 100
/* A gsub() takes 2 KiB of stack. Lua's own bound is 200. */
#define MOST_CALLS 50
/* Bytes that are copied or compared in about the time of an instruction. */
#define BYTES_OF_STEP 64

struct machine *machine_of(lua_State *lua)
{
    return *(struct machine **)lua_getextraspace(lua);
}

/* Lua asks for memory with NULL, and gives it back with a size of 0. */
static void *allocate(void *arg, void *old, size_t old_size, size_t size)
{
    struct machine *machine = arg;
    size_t had = old ? old_size : 0; /* without old memory, it is what the memory is for */
    void *memory;

    if (size == 0) {
        free(old);
        machine->used -= had;
        return NULL;
    }
    if (size > had && size - had > machine->most - machine->used)
        return NULL;
    memory = realloc(old, size);
    if (!memory)
        return size <= had ? old : NULL; /* Lua relies on shrinking */
    machine->used += size - had;
    if (size > had)
        machine->steps -= (int64_t)((size - had) / BYTES_OF_STEP);
    return memory;
}

/* ---- Bounds ---- */

/* level: 0: where the running function is; 1: where it was called. */
static void raise(lua_State *lua, int level, enum machine_bound passed)
{
    machine_of(lua)->passed = passed;
    luaL_where(lua, level);
    lua_pushstring(lua, passed == MACHINE_STEPS ? "too many steps" : "too slow");
    lua_concat(lua, 2);
    lua_error(lua);
}

void machine_raise_steps(lua_State *lua)
{
    raise(lua, 1, MACHINE_STEPS);
}

static void on_instructions(lua_State *lua, lua_Debug *at)
{
    struct machine *machine = machine_of(lua);

    (void)at;
    machine->steps -= HOOK_INTERVAL;
    if (machine->steps < 0)
        raise(lua, 0, MACHINE_STEPS);
    if (machine->cpu && machine->cpu() >= machine->cpu_end)
        raise(lua, 0, MACHINE_TIME);
}

void machine_charge(lua_State *lua, size_t steps)
{
    struct machine *machine = machine_of(lua);

    machine->steps -= steps > INT32_MAX ? INT32_MAX : (int64_t)steps;
    if (machine->steps < 0)
        machine_raise_steps(lua);
}

void machine_charge_bytes(lua_State *lua, size_t bytes)
{
    machine_charge(lua, 1 + bytes / BYTES_OF_STEP);
}

/* An error ends the run, so that nobody counts after it. */
void machine_call(lua_State *lua, int n_arguments, int n_results)
{
    struct machine *machine = machine_of(lua);

    if (machine->nested == MOST_CALLS)
        luaL_error(lua, "too many calls inside each other");
    machine->nested++;
    lua_call(lua, n_arguments, n_results);
    machine->nested--;
}

void machine_bind(struct machine *machine, int64_t steps, size_t bytes, int64_t ms)
{
    machine->steps = steps;
    machine->most = machine->used + bytes;
    if (machine->cpu)
        machine->cpu_end = machine->cpu() + ms;
    lua_sethook(machine->lua, on_instructions, LUA_MASKCOUNT, HOOK_INTERVAL);
}

/* ---- Lifetime ---- */

bool machine_init(struct machine *machine, size_t most)
{
    *machine = (struct machine){.most = most, .steps = INT64_MAX};
    machine->lua = lua_newstate(allocate, machine);
    if (machine->lua)
        *(struct machine **)lua_getextraspace(machine->lua) = machine;
    return machine->lua != NULL;
}

void machine_done(struct machine *machine)
{
    if (machine->lua)
        lua_close(TAKE(machine->lua));
}
