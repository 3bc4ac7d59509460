#include "runtimes/lua/library.h"

#include <stdbool.h>
#include <string.h>

#include "runtimes/lua/machine.h"

/* A function of Lua's library, its first upvalue, that has no upvalues of its own. */
static int call_charged(lua_State *lua)
{
    lua_CFunction function = lua_tocfunction(lua, lua_upvalueindex(1));
    size_t bytes = 0, length;

    for (int i = 1; i <= lua_gettop(lua); i++)
        if (lua_type(lua, i) == LUA_TSTRING) {
            lua_tolstring(lua, i, &length);
            bytes += length;
        }
    machine_charge_bytes(lua, bytes);
    return function(lua);
}

static bool is_kept(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* A member may be set to another value, or to nil, while a table is walked through. */
void library_keep(lua_State *lua, const char *const *names)
{
    int table = lua_gettop(lua);

    lua_pushnil(lua);
    while (lua_next(lua, table)) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "";
        bool is_function = lua_iscfunction(lua, -1), kept = is_kept(names, name);

        if (kept && is_function) {
            lua_pushcclosure(lua, call_charged, 1);
        } else if (!kept) {
            lua_pop(lua, 1);
            lua_pushnil(lua);
        }
        lua_pushvalue(lua, -2);
        lua_insert(lua, -2);
        lua_rawset(lua, table);
    }
}

void library_push_text(lua_State *lua, int index)
{
    int type = lua_type(lua, index);

    switch (type) {
    case LUA_TSTRING:
    case LUA_TNUMBER:
        lua_pushvalue(lua, index);
        lua_tolstring(lua, -1, NULL);
        break;
    case LUA_TBOOLEAN:
        lua_pushstring(lua, lua_toboolean(lua, index) ? "true" : "false");
        break;
    default:
        lua_pushstring(lua, lua_typename(lua, type));
    }
}

void library_open(lua_State *lua)
{
    library_open_basics(lua);
    library_open_strings(lua);
    library_open_tables(lua);
}
