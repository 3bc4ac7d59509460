#include "runtimes/terraform/values/msgpack.h"

#include <string.h>

enum {
    CODE_NIL = 0xc0,
    CODE_FALSE = 0xc2,
    CODE_TRUE = 0xc3,
    CODE_BIN_8 = 0xc4,
    CODE_EXT_8 = 0xc7,
    CODE_FLOAT_32 = 0xca,
    CODE_FLOAT_64 = 0xcb,
    CODE_UINT_8 = 0xcc,
    CODE_UINT_64 = 0xcf,
    CODE_INT_8 = 0xd0,
    CODE_INT_64 = 0xd3,
    CODE_FIXEXT_1 = 0xd4,
    CODE_FIXEXT_16 = 0xd8,
    CODE_STR_8 = 0xd9,
    CODE_ARRAY_16 = 0xdc,
    CODE_MAP_16 = 0xde,
    CODE_MAP_32 = 0xdf,
    FIX_MAP = 0x80,
    FIX_ARRAY = 0x90,
    FIX_STR = 0xa0,
    FIX_NEGATIVE = 0xe0,
};

/* ---- Writing ---- */

static void add_big_endian(struct buf *to, uint64_t value, size_t bytes)
{
    while (bytes--)
        buf_add_char(to, (char)(value >> (8 * bytes)));
}

static void add_code(struct buf *to, unsigned code)
{
    buf_add_char(to, (char)code);
}

/* A length in its shortest form. fixed: the code that carries a length below `limit`; codes: that
 * for 8 bits (0: none), 16 and 32 follow it. */
static void add_length(struct buf *to, unsigned fixed, size_t limit, unsigned code_8,
                       unsigned code_16, size_t length)
{
    if (length < limit) {
        add_code(to, fixed | (unsigned)length);
    } else if (code_8 && length <= UINT8_MAX) {
        add_code(to, code_8);
        add_big_endian(to, length, 1);
    } else if (length <= UINT16_MAX) {
        add_code(to, code_16);
        add_big_endian(to, length, 2);
    } else {
        add_code(to, code_16 + 1);
        add_big_endian(to, length, 4);
    }
}

void msgpack_add_nil(struct buf *to)
{
    add_code(to, CODE_NIL);
}

void msgpack_add_bool(struct buf *to, bool value)
{
    add_code(to, value ? CODE_TRUE : CODE_FALSE);
}

void msgpack_add_int(struct buf *to, int64_t value)
{
    if (value >= -32 && value <= INT8_MAX) {
        add_code(to, (unsigned)(value & 0xff));
        return;
    }
    add_code(to, CODE_INT_64);
    add_big_endian(to, (uint64_t)value, 8);
}

void msgpack_add_double(struct buf *to, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    add_code(to, CODE_FLOAT_64);
    add_big_endian(to, bits, 8);
}

void msgpack_add_string(struct buf *to, const char *text, size_t length)
{
    add_length(to, FIX_STR, 32, CODE_STR_8, CODE_STR_8 + 1, length);
    buf_add(to, text, length);
}

void msgpack_add_bytes(struct buf *to, const void *data, size_t length)
{
    add_length(to, 0, 0, CODE_BIN_8, CODE_BIN_8 + 1, length);
    buf_add(to, data, length);
}

void msgpack_add_array(struct buf *to, size_t count)
{
    add_length(to, FIX_ARRAY, 16, 0, CODE_ARRAY_16, count);
}

void msgpack_add_map(struct buf *to, size_t count)
{
    add_length(to, FIX_MAP, 16, 0, CODE_MAP_16, count);
}

void msgpack_add_unknown(struct buf *to)
{
    add_code(to, CODE_FIXEXT_1);
    buf_add(to, "\0", 2);
}

/* ---- Reading ---- */

static size_t left(const struct msgpack_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

static bool take_big_endian(struct msgpack_reader *reader, size_t bytes, uint64_t *ret)
{
    *ret = 0;
    if (left(reader) < bytes)
        return false;
    while (bytes--)
        *ret = *ret << 8 | *reader->at++;
    return true;
}

static bool take_data(struct msgpack_reader *reader, enum msgpack_type type, uint64_t length,
                      struct msgpack_item *ret)
{
    if (left(reader) < length)
        return false;
    ret->type = type;
    ret->data = (const char *)reader->at;
    ret->length = length;
    reader->at += length;
    return true;
}

/* Each value has a byte at least. */
static bool take_header(struct msgpack_reader *reader, enum msgpack_type type, uint64_t count,
                        struct msgpack_item *ret)
{
    ret->type = type;
    ret->length = count;
    return count <= left(reader) / (type == MSGPACK_MAP ? 2 : 1);
}

/* An extension is preceded by its own type. */
static bool take_extension(struct msgpack_reader *reader, uint64_t length, struct msgpack_item *ret)
{
    uint64_t type;

    return take_big_endian(reader, 1, &type) && take_data(reader, MSGPACK_EXTENSION, length, ret);
}

static bool take_int(struct msgpack_item *ret, int64_t value)
{
    ret->type = MSGPACK_INT;
    ret->integer = value;
    return true;
}

static bool take_unsigned(struct msgpack_reader *reader, size_t bytes, struct msgpack_item *ret)
{
    uint64_t bits;

    if (!take_big_endian(reader, bytes, &bits))
        return false;
    if (bits <= INT64_MAX)
        return take_int(ret, (int64_t)bits);
    ret->type = MSGPACK_UNSIGNED;
    ret->unsigned_integer = bits;
    return true;
}

static bool take_signed(struct msgpack_reader *reader, size_t bytes, struct msgpack_item *ret)
{
    uint64_t bits;
    unsigned shift = (unsigned)(64 - 8 * bytes);

    return take_big_endian(reader, bytes, &bits) &&
           take_int(ret, (int64_t)(bits << shift) >> shift);
}

static bool take_double(struct msgpack_reader *reader, size_t bytes, struct msgpack_item *ret)
{
    uint64_t bits;
    uint32_t short_bits;
    float single;

    if (!take_big_endian(reader, bytes, &bits))
        return false;
    ret->type = MSGPACK_DOUBLE;
    if (bytes == sizeof(ret->number)) {
        memcpy(&ret->number, &bits, sizeof(bits));
        return true;
    }
    short_bits = (uint32_t)bits;
    memcpy(&single, &short_bits, sizeof(single));
    ret->number = (double)single;
    return true;
}

/* The codes from 0xc0 to 0xdf. */
static bool read_coded(struct msgpack_reader *reader, unsigned code, struct msgpack_item *ret)
{
    uint64_t length;

    if (code == CODE_NIL) {
        ret->type = MSGPACK_NIL;
        return true;
    }
    if (code == CODE_FALSE || code == CODE_TRUE) {
        ret->type = MSGPACK_BOOL;
        ret->boolean = code == CODE_TRUE;
        return true;
    }
    if (code >= CODE_BIN_8 && code < CODE_EXT_8)
        return take_big_endian(reader, (size_t)1 << (code - CODE_BIN_8), &length) &&
               take_data(reader, MSGPACK_BYTES, length, ret);
    if (code >= CODE_EXT_8 && code < CODE_FLOAT_32)
        return take_big_endian(reader, (size_t)1 << (code - CODE_EXT_8), &length) &&
               take_extension(reader, length, ret);
    if (code == CODE_FLOAT_32 || code == CODE_FLOAT_64)
        return take_double(reader, code == CODE_FLOAT_32 ? 4 : 8, ret);
    if (code >= CODE_UINT_8 && code <= CODE_UINT_64)
        return take_unsigned(reader, (size_t)1 << (code - CODE_UINT_8), ret);
    if (code >= CODE_INT_8 && code <= CODE_INT_64)
        return take_signed(reader, (size_t)1 << (code - CODE_INT_8), ret);
    if (code >= CODE_FIXEXT_1 && code <= CODE_FIXEXT_16)
        return take_extension(reader, (uint64_t)1 << (code - CODE_FIXEXT_1), ret);
    if (code >= CODE_STR_8 && code < CODE_ARRAY_16)
        return take_big_endian(reader, (size_t)1 << (code - CODE_STR_8), &length) &&
               take_data(reader, MSGPACK_STRING, length, ret);
    if (code >= CODE_ARRAY_16 && code < CODE_MAP_16)
        return take_big_endian(reader, (size_t)2 << (code - CODE_ARRAY_16), &length) &&
               take_header(reader, MSGPACK_ARRAY, length, ret);
    if (code >= CODE_MAP_16 && code <= CODE_MAP_32)
        return take_big_endian(reader, (size_t)2 << (code - CODE_MAP_16), &length) &&
               take_header(reader, MSGPACK_MAP, length, ret);
    return false; /* 0xc1 has no meaning */
}

bool msgpack_read(struct msgpack_reader *reader, struct msgpack_item *ret)
{
    unsigned code;

    *ret = (struct msgpack_item){0};
    if (reader->at == reader->end)
        return false;
    code = *reader->at++;
    if (code < FIX_MAP)
        return take_int(ret, (int64_t)code);
    if (code >= FIX_NEGATIVE)
        return take_int(ret, (int64_t)code - 0x100);
    if (code < FIX_ARRAY)
        return take_header(reader, MSGPACK_MAP, code - FIX_MAP, ret);
    if (code < FIX_STR)
        return take_header(reader, MSGPACK_ARRAY, code - FIX_ARRAY, ret);
    if (code < CODE_NIL)
        return take_data(reader, MSGPACK_STRING, code - FIX_STR, ret);
    return read_coded(reader, code, ret);
}
