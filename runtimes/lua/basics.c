/* Functions without a table, and those of math and os. */
#include <lualib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/cleanup.h"
#include "runtimes/lua/library.h"
#include "runtimes/lua/machine.h"

/* ---- Keys in an order ---- */

/* Numbers come before texts, and texts before booleans. Other keys have no order that is the same
 * in each run: they are refused. */
enum rank { RANK_NUMBER, RANK_TEXT, RANK_BOOLEAN };

/* text: of the table that has the key. */
struct key {
    enum rank rank;
    lua_Number number; /* of a boolean: 0 or 1 */
    const char *text;
    size_t length;
    lua_Integer position; /* among the keys as the table has them */
};

static struct key key_at(lua_State *lua, int index)
{
    struct key key = {0};

    switch (lua_type(lua, index)) {
    case LUA_TNUMBER:
        key.number = lua_tonumber(lua, index);
        break;
    case LUA_TSTRING:
        key.rank = RANK_TEXT;
        key.text = lua_tolstring(lua, index, &key.length);
        break;
    case LUA_TBOOLEAN:
        key.rank = RANK_BOOLEAN;
        key.number = lua_toboolean(lua, index);
        break;
    default:
        luaL_error(lua, "a key that is a %s has no order", luaL_typename(lua, index));
    }
    machine_charge_bytes(lua, key.length);
    return key;
}

static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->rank != RANK_TEXT)
        return (x->number > y->number) - (x->number < y->number);
    order = least ? memcmp(x->text, y->text, least) : 0;
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

/* next(table, key): the least key behind it. */
static int next_sorted(lua_State *lua)
{
    struct key after = {0}, least = {0};
    bool is_first = lua_isnoneornil(lua, 2), found = false;

    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 2);
    if (!is_first)
        after = key_at(lua, 2);
    lua_pushnil(lua); /* 3: the least key so far */
    lua_pushnil(lua);
    while (lua_next(lua, 1)) {
        struct key key = key_at(lua, -2);

        lua_pop(lua, 1);
        if ((!is_first && compare_keys(&key, &after) <= 0) ||
            (found && compare_keys(&key, &least) >= 0))
            continue;
        least = key;
        found = true;
        lua_pushvalue(lua, -1);
        lua_replace(lua, 3);
    }
    lua_settop(lua, 3);
    if (!found)
        return 1;
    lua_pushvalue(lua, 3);
    lua_rawget(lua, 1);
    return 2;
}

/* The iterator of pairs(). Upvalues: the table, its sorted keys, the position of the last one. */
static int next_of_pairs(lua_State *lua)
{
    lua_Integer position = lua_tointeger(lua, lua_upvalueindex(3));

    lua_settop(lua, 0);
    do {
        machine_charge(lua, 1);
        lua_settop(lua, 0);
        if (lua_rawgeti(lua, lua_upvalueindex(2), ++position) == LUA_TNIL)
            return 1;
        lua_pushvalue(lua, 1);
    } while (lua_rawget(lua, lua_upvalueindex(1)) == LUA_TNIL); /* it was removed meanwhile */
    lua_pushinteger(lua, position);
    lua_replace(lua, lua_upvalueindex(3));
    return 2;
}

static lua_Integer count_keys(lua_State *lua, int table)
{
    lua_Integer n = 0;

    lua_pushnil(lua);
    for (; lua_next(lua, table); n++) {
        machine_charge(lua, 1);
        lua_pop(lua, 1);
    }
    return n;
}

static int pairs_sorted(lua_State *lua)
{
    struct key *keys;
    lua_Integer n;

    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    n = count_keys(lua, 1);
    keys = lua_newuserdatauv(lua, (size_t)(n + 1) * sizeof(*keys), 0); /* 2 */
    lua_createtable(lua, (int)n, 0); /* 3: the keys as the table has them */
    lua_createtable(lua, (int)n, 0); /* 4: sorted */
    n = 0;
    lua_pushnil(lua);
    while (lua_next(lua, 1)) {
        lua_pop(lua, 1);
        keys[n] = key_at(lua, -1);
        keys[n].position = n + 1;
        lua_pushvalue(lua, -1);
        lua_rawseti(lua, 3, ++n);
    }
    for (lua_Integer i = n; i > 1; i /= 2)
        machine_charge(lua, (size_t)n);
    qsort(keys, (size_t)n, sizeof(*keys), compare_keys);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(lua, 3, keys[i].position);
        lua_rawseti(lua, 4, i + 1);
    }
    lua_pushvalue(lua, 1);
    lua_pushvalue(lua, 4);
    lua_pushinteger(lua, 0);
    lua_pushcclosure(lua, next_of_pairs, 3);
    return 1;
}

/* ---- Others ---- */

static int text_of(lua_State *lua)
{
    luaL_checkany(lua, 1);
    machine_charge(lua, 1);
    library_push_text(lua, 1);
    return 1;
}

/* ---- os.time ---- */

static lua_Integer read_part(lua_State *lua, const char *name, lua_Integer fallback)
{
    lua_Integer part;
    int is_whole;

    lua_getfield(lua, 1, name);
    part = lua_tointegerx(lua, -1, &is_whole);
    if (lua_isnil(lua, -1) && fallback >= 0)
        part = fallback;
    else if (!is_whole)
        return luaL_error(lua, "field '%s' missing in date table, or not an integer", name);
    if (part < INT32_MIN || part > INT32_MAX)
        return luaL_error(lua, "field '%s' is out-of-bound", name);
    lua_pop(lua, 1);
    return part;
}

/* Days from 1970-01-01 to the first of that month, by the Gregorian calendar. Years begin in March
 * here, so that the day of a leap year is their last one. */
static lua_Integer days_to_month(lua_Integer year, lua_Integer month)
{
    static const int before[] = {0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337};
    lua_Integer months = year * 12 + month - 3, era;

    year = months >= 0 ? months / 12 : -((11 - months) / 12);
    months -= year * 12;
    era = year >= 0 ? year / 400 : -((399 - year) / 400);
    year -= era * 400;
    return era * 146097 + year * 365 + year / 4 - year / 100 + before[months] - 719468;
}

/* The clock is not to decide about health: without an argument the answer would depend on when an
 * object was looked at. */
static int time_of_table(lua_State *lua)
{
    lua_Integer days;

    if (lua_isnoneornil(lua, 1))
        return luaL_error(lua, "os.time() needs a table: health does not depend on the clock");
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    days = days_to_month(read_part(lua, "year", -1), read_part(lua, "month", -1)) +
           read_part(lua, "day", -1) - 1;
    lua_pushinteger(lua, days * 86400 + read_part(lua, "hour", 12) * 3600 +
                             read_part(lua, "min", 0) * 60 + read_part(lua, "sec", 0));
    return 1;
}

/* ---- All of them ---- */

static void open_kept(lua_State *lua, lua_CFunction open, const char *name,
                      const char *const *names)
{
    lua_pushcfunction(lua, open);
    lua_pushstring(lua, name);
    lua_call(lua, 1, 1);
    library_keep(lua, names);
}

void library_open_basics(lua_State *lua)
{
    static const char *const basics[] = {"assert", "error",    "ipairs",   "rawequal", "rawlen",
                                         "select", "_VERSION", "tonumber", "type",     NULL};
    static const char *const math[] = {"abs", "ceil",       "floor",     "fmod",       "huge",
                                       "max", "maxinteger", "min",       "mininteger", "modf",
                                       "pi",  "sqrt",       "tointeger", "type",       NULL};
    static const luaL_Reg own[] = {
        {"next", next_sorted}, {"pairs", pairs_sorted}, {"tostring", text_of}, {NULL, NULL}};
    static const luaL_Reg os[] = {{"time", time_of_table}, {NULL, NULL}};

    open_kept(lua, luaopen_base, "_G", basics);
    luaL_setfuncs(lua, own, 0);
    open_kept(lua, luaopen_math, "math", math);
    lua_setfield(lua, -2, "math");
    luaL_newlib(lua, os);
    lua_setfield(lua, -2, "os");
    lua_pop(lua, 1);
}
