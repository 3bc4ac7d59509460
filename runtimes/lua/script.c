#include "runtimes/lua/script.h"

#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/threads/thread.h"
#include "runtimes/lua/library.h"
#include "runtimes/lua/machine.h"

/* ---- Values ---- */

/* What a script sees instead of a secret text or number. */
#define CONVERT_SECRET "(sensitive)"

static void push_number(lua_State *lua, const struct value *value)
{
    const char *text = value_number(value);
    int64_t whole = value_int(value, INT64_MIN);

    if (!strpbrk(text, ".eE") && whole != INT64_MIN)
        lua_pushinteger(lua, whole);
    else
        lua_pushnumber(lua, strtod(text, NULL));
}

static void push_text(lua_State *lua, const struct value *value)
{
    size_t length;
    const char *text = value_string_n(value, &length);

    lua_pushlstring(lua, text, length);
}

static void push_scalar(lua_State *lua, const struct value *value)
{
    enum value_type type = value_type(value);

    if (type == VALUE_BOOL)
        lua_pushboolean(lua, value_bool(value, false));
    else if (value_is_sensitive(value) && (type == VALUE_STRING || type == VALUE_NUMBER))
        lua_pushliteral(lua, CONVERT_SECRET);
    else if (type == VALUE_STRING)
        push_text(lua, value);
    else if (type == VALUE_NUMBER)
        push_number(lua, value);
    else
        lua_pushnil(lua);
}

static void convert_push(lua_State *lua, const struct value *value);

static void push_array(lua_State *lua, const struct value *array)
{
    size_t n = value_count(array);

    lua_createtable(lua, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        convert_push(lua, value_at(array, i));
        lua_rawseti(lua, -2, (lua_Integer)i + 1);
    }
}

static void push_object(lua_State *lua, const struct value *object)
{
    size_t n = value_count(object);

    lua_createtable(lua, 0, (int)n);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        const char *key = value_member_key(object, i, &length);

        lua_pushlstring(lua, key, length);
        convert_push(lua, value_member(object, i));
        lua_rawset(lua, -3);
    }
}

/* As deep as documents are (LIMIT_DEPTH). */
static void convert_push(lua_State *lua, const struct value *value)
{
    luaL_checkstack(lua, 4, "the object is too deep");
    if (value_is(value, VALUE_ARRAY))
        push_array(lua, value);
    else if (value_is(value, VALUE_OBJECT))
        push_object(lua, value);
    else
        push_scalar(lua, value);
}

/* ---- Verdicts ---- */

#define CHUNK "=health.lua"

static const char *const status_names[] = {
    [SCRIPT_NO_OPINION] = "",
    [SCRIPT_HEALTHY] = "Healthy",
    [SCRIPT_PROGRESSING] = "Progressing",
    [SCRIPT_DEGRADED] = "Degraded",
    [SCRIPT_SUSPENDED] = "Suspended",
    [SCRIPT_MISSING] = "Missing",
    [SCRIPT_UNKNOWN] = "Unknown",
};

const char *script_status_name(enum script_status status)
{
    return status_names[status];
}

/* A run, on a thread of its own. */
struct run {
    const char *text;
    size_t length;
    const struct value *object; /* NULL: it is compiled alone */
    int64_t (*cpu)(void);
    struct script_verdict *verdict;
    struct error *error;
    int code;
    struct machine machine;
};

/* ---- Errors ---- */

/* In place of Lua's own words, where a bound was passed. */
static const char *why_ended(const struct machine *machine, int status)
{
    if (status == LUA_ERRMEM)
        return "it needs more memory than a health check may have";
    switch (machine->passed) {
    case MACHINE_STEPS:
        return "it takes more steps than a health check may have";
    case MACHINE_TIME:
        return "it takes more time than a health check may have";
    case MACHINE_WITHIN:
        break;
    }
    return NULL;
}

/* The error value of Lua is on top of the stack. */
static int fail(struct run *run, int status, const char *reason)
{
    lua_State *lua = run->machine.lua;
    const char *why = why_ended(&run->machine, status);
    const char *said = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : NULL;
    _cleanup_free_ char *shown = utf8_show(said ? said : "it raised an error without a text");
    const char *place = why && said ? strstr(shown, ": ") : NULL; /* "health.lua:3: " */

    if (why && place)
        return err_set(run->error, ERR_INVALID, reason, "%.*s: %s", (int)(place - shown), shown,
                       why);
    return err_set(run->error, ERR_INVALID, reason, "%s", why ? why : shown);
}

/* ---- What it returned ---- */

/* Cleaned; NULs end no text of Lua. */
static void set_message(struct script_verdict *verdict, const char *text, size_t length)
{
    _cleanup_free_ char *copy =
        str_new_n(text, length < 4 * SCRIPT_MESSAGE ? length : 4 * SCRIPT_MESSAGE);
    _cleanup_free_ char *shown = NULL;

    for (size_t i = 0; i < length && i < 4 * SCRIPT_MESSAGE; i++)
        if (!copy[i])
            copy[i] = ' ';
    shown = utf8_show(copy);
    str_copy(verdict->message, sizeof(verdict->message), shown);
}

static int read_status(struct run *run, lua_State *lua)
{
    const char *name = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : NULL;

    for (size_t i = SCRIPT_HEALTHY; name && i < ARRAY_SIZE(status_names); i++)
        if (str_equal(name, status_names[i])) {
            run->verdict->status = (enum script_status)i;
            return 0;
        }
    return err_set(run->error, ERR_INVALID, "HealthCheckFailed",
                   "health.lua returned no status that is one of Healthy, Progressing, Degraded, "
                   "Suspended, Missing, Unknown");
}

/* The table is on top of the stack. Protected: a number is turned into a text. */
static int read_verdict(lua_State *lua)
{
    struct run *run = lua_touserdata(lua, 1);
    const char *text;
    size_t length;

    lua_pushliteral(lua, "status");
    lua_rawget(lua, 2);
    run->code = read_status(run, lua);
    lua_pushliteral(lua, "message");
    lua_rawget(lua, 2);
    if (run->code < 0 || lua_isnil(lua, -1))
        return 0;
    text = lua_isstring(lua, -1) ? lua_tolstring(lua, -1, &length) : NULL;
    if (text)
        set_message(run->verdict, text, length);
    else
        run->code = err_set(run->error, ERR_INVALID, "HealthCheckFailed",
                            "health.lua returned a message that is a %s", luaL_typename(lua, -1));
    return 0;
}

/* On top of the stack. */
static int read_result(struct run *run)
{
    lua_State *lua = run->machine.lua;
    int status;

    if (lua_isnil(lua, -1))
        return 0;
    if (!lua_istable(lua, -1))
        return err_set(run->error, ERR_INVALID, "HealthCheckFailed",
                       "health.lua returned a %s, and no table with status and message",
                       luaL_typename(lua, -1));
    lua_pushnil(lua);
    if (!lua_next(lua, -2))
        return 0;
    lua_pop(lua, 2);
    lua_pushcfunction(lua, read_verdict);
    lua_insert(lua, -2);
    lua_pushlightuserdata(lua, run);
    lua_insert(lua, -2);
    status = lua_pcall(lua, 2, 0, 0);
    if (status != LUA_OK)
        run->code = fail(run, status, "HealthCheckFailed");
    if (run->code < 0)
        *run->verdict = (struct script_verdict){0};
    return run->code;
}

/* ---- A run ---- */

/* Protected. Leaves `obj` and the library as globals. */
static int prepare(lua_State *lua)
{
    const struct run *run = lua_touserdata(lua, 1);

    library_open(lua);
    convert_push(lua, run->object);
    lua_setglobal(lua, "obj");
    return 0;
}

static int compile(struct run *run)
{
    int status = luaL_loadbufferx(run->machine.lua, run->text, run->length, CHUNK, "t");

    return status == LUA_OK ? 0 : fail(run, status, "InvalidSpec");
}

static int run_prepared(struct run *run)
{
    struct machine *machine = &run->machine;
    lua_State *lua = machine->lua;
    int status;

    machine_bind(machine, SCRIPT_STEPS, SCRIPT_MEMORY, SCRIPT_CPU_MS);
    if (compile(run) < 0)
        return ERR_INVALID;
    status = lua_pcall(lua, 0, 1, 0);
    return status == LUA_OK ? read_result(run) : fail(run, status, "HealthCheckFailed");
}

static int run_all(struct run *run)
{
    lua_State *lua = run->machine.lua;

    if (!lua)
        return err_set(run->error, ERR_UNAVAILABLE, "HealthCheckFailed",
                       "there is no memory for it");
    if (!run->object) {
        machine_bind(&run->machine, SCRIPT_STEPS, SCRIPT_MEMORY, SCRIPT_CPU_MS);
        return compile(run);
    }
    lua_pushcfunction(lua, prepare);
    lua_pushlightuserdata(lua, run);
    if (lua_pcall(lua, 1, 0, 0) != LUA_OK)
        return err_set(run->error, ERR_INVALID, "HealthCheckFailed",
                       "the object is too large for a health check in Lua");
    return run_prepared(run);
}

static void *on_thread(void *arg)
{
    struct run *run = arg;

    machine_init(&run->machine, SCRIPT_OBJECT_BYTES);
    run->machine.cpu = run->cpu;
    run->code = run_all(run);
    machine_done(&run->machine);
    return NULL;
}

/* Lua calls itself up to 200 times, in its parser and from its functions: that takes more stack
 * than a thread of the executor has. */
static int run_on_large_stack(struct run *run)
{
    pthread_t thread;
    int r;

    if (run->length > SCRIPT_BYTES)
        return err_set(run->error, ERR_INVALID, "InvalidSpec", "has %zu bytes, %u at most",
                       run->length, SCRIPT_BYTES);
    r = thread_start("lua", THREAD_LARGE, on_thread, run, &thread, run->error);
    if (r < 0)
        return r;
    pthread_join(thread, NULL);
    return run->code;
}

int script_check(const char *text, size_t length, struct error *error)
{
    struct run run = {.text = text, .length = length, .error = error};

    return run_on_large_stack(&run);
}

int script_judge(const char *text, size_t length, const struct value *object, int64_t (*cpu)(void),
                 struct script_verdict *ret, struct error *error)
{
    struct run run = {.text = text,
                      .length = length,
                      .object = object,
                      .cpu = cpu,
                      .verdict = ret,
                      .error = error};

    *ret = (struct script_verdict){0};
    return run_on_large_stack(&run);
}
