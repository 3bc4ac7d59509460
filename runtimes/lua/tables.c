/* The functions of table. Those of Lua that count on the length of a table are not used: `#` of a
 * table with holes may be any number, up to 2^62, and a loop over it has no end. */
#include <lualib.h>

#include "runtimes/lua/library.h"
#include "runtimes/lua/machine.h"

static lua_Integer length_of(lua_State *lua)
{
    lua_Integer length;

    luaL_checktype(lua, 1, LUA_TTABLE);
    length = (lua_Integer)lua_rawlen(lua, 1);
    if (length == LUA_MAXINTEGER)
        luaL_error(lua, "the table is too long");
    return length;
}

/* Moves the items from `first` to `last` by one place, up or down. */
static void shift(lua_State *lua, lua_Integer first, lua_Integer last, int by)
{
    if (first > last)
        return;
    machine_charge(lua, (size_t)(last - first) + 1);
    for (lua_Integer i = by > 0 ? last : first; i >= first && i <= last; i -= by) {
        lua_rawgeti(lua, 1, i);
        lua_rawseti(lua, 1, i + by);
    }
}

static int insert(lua_State *lua)
{
    lua_Integer end = length_of(lua) + 1, at = end;

    machine_charge(lua, 1);
    switch (lua_gettop(lua)) {
    case 2:
        break;
    case 3:
        at = luaL_checkinteger(lua, 2);
        luaL_argcheck(lua, at >= 1 && at <= end, 2, "position out of bounds");
        shift(lua, at, end - 1, 1);
        break;
    default:
        return luaL_error(lua, "wrong number of arguments to 'insert'");
    }
    lua_rawseti(lua, 1, at);
    return 0;
}

static int remove_at(lua_State *lua)
{
    lua_Integer end = length_of(lua), at = luaL_optinteger(lua, 2, end);

    machine_charge(lua, 1);
    luaL_argcheck(lua, lua_isnoneornil(lua, 2) || (at >= (end > 0) && at <= end + 1), 2,
                  "position out of bounds");
    lua_settop(lua, 1);
    lua_rawgeti(lua, 1, at);
    shift(lua, at + 1, end, -1);
    if (at <= end || end == 0) {
        lua_pushnil(lua);
        lua_rawseti(lua, 1, at > end ? at : end);
    }
    return 1;
}

static int get_length(lua_State *lua)
{
    lua_pushinteger(lua, length_of(lua));
    return 1;
}

/* Between instructions nothing bounds a comparison of long texts. */
static int is_less(lua_State *lua)
{
    size_t a = 0, b = 0;

    if (lua_type(lua, 1) == LUA_TSTRING && lua_type(lua, 2) == LUA_TSTRING) {
        lua_tolstring(lua, 1, &a);
        lua_tolstring(lua, 2, &b);
    }
    machine_charge_bytes(lua, a < b ? a : b);
    lua_pushboolean(lua, lua_compare(lua, 1, 2, LUA_OPLT));
    return 1;
}

/* Upvalue: Lua's own. */
static int sort(lua_State *lua)
{
    lua_CFunction function = lua_tocfunction(lua, lua_upvalueindex(1));

    machine_charge(lua, (size_t)length_of(lua));
    lua_settop(lua, 2);
    if (lua_isnil(lua, 2)) {
        lua_pushcfunction(lua, is_less);
        lua_replace(lua, 2);
    }
    return function(lua);
}

void library_open_tables(lua_State *lua)
{
    static const char *const kept[] = {"concat", "pack", "unpack", NULL};
    static const luaL_Reg own[] = {
        {"getn", get_length}, {"insert", insert}, {"remove", remove_at}, {NULL, NULL}};

    lua_pushcfunction(lua, luaopen_table);
    lua_call(lua, 0, 1);
    lua_getfield(lua, -1, "sort");
    lua_pushcclosure(lua, sort, 1);
    lua_insert(lua, -2);
    library_keep(lua, kept);
    luaL_setfuncs(lua, own, 0);
    lua_getfield(lua, -1, "unpack"); /* as Lua 5.1 has it */
    lua_setglobal(lua, "unpack");
    lua_insert(lua, -2);
    lua_setfield(lua, -2, "sort");
    lua_setglobal(lua, "table");
}
