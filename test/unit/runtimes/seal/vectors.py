#!/usr/bin/python3
"""Makes vectors.inc: sealed parts as runtimes/seal/format.h describes them, by Python's cryptography.

    test/unit/runtimes/seal/vectors.py >test/unit/runtimes/seal/vectors.inc
"""

import hashlib
from struct import pack

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.keywrap import aes_key_wrap

OPEN, SECRET, ENTRY = range(3)
MARK, END = b"\x93KUSEAL\x01", b"\x01LAESUK\x93"


def field(value):
    return pack(">H", len(value)) + value


def block(provider, key_id, wrapped, annotations=()):
    return (field(provider) + field(key_id) + field(wrapped) + pack(">H", len(annotations))
            + b"".join(field(name) + field(value) for name, value in annotations))


def place(name, number):
    kind, namespace, spec, item = name
    return (pack(">Q", number) + field(kind) + field(namespace) + field(spec)
            + (b"\1" + field(item) if item is not None else b"\0"))


def seal(seed, head_block, name, part, content, random, write, number=0, open_hash=None, flags=0, carried=()):
    head = MARK + bytes([part, flags]) + field(head_block) + random + write
    if part == SECRET:
        head += open_hash + pack(">I", len(carried)) + b"".join(pack(">Q", len(entry)) for entry in carried)
    key = HKDF(hashes.SHA256(), 32, random, b"kusion seal 1").derive(seed)
    return head + AESGCM(key).encrypt(bytes(12), content + b"".join(carried), head + place(name, number)) + END


def numbers(start, count):
    return bytes((start + i) % 256 for i in range(count))


def main():
    seed, write = numbers(7, 32), numbers(100, 16)
    by_file = block(b"file", b"k1", aes_key_wrap(b"\1" * 32, seed))
    by_kms = block(b"kms", b"arn:aws:kms:eu-1:1:key/2", numbers(3, 97), [(b"nonce.test.io", numbers(0, 12)), (b"none.test.io", b"")])
    web = (b"state", b"team", b"web", None)
    plan = (b"plan", b"team", b"web", b"web-7")
    opened = seal(seed, by_file, web, OPEN, b'{"open":1}', numbers(9, 32), write)
    rows = [
        ("the open part", by_file, web, OPEN, 0, b'{"open":1}', numbers(9, 32), None, 0, ()),
        ("the secret part of it", by_file, web, SECRET, 0, b"secret", numbers(41, 32), opened, 1, ()),
        ("the first entry", by_file, web, ENTRY, 0, b"entry", numbers(42, 32), None, 0, ()),
        ("a later entry", by_file, web, ENTRY, 70000, b"", numbers(43, 32), None, 0, ()),
        ("a secret part that is empty", by_kms, plan, SECRET, 0, b"", numbers(44, 32), b"open", 0, ()),
        ("carried entries", by_kms, plan, SECRET, 0, b"secret", numbers(45, 32), b"", 0, (b"one", b"", b"three")),
    ]
    print("/* Made by vectors.py. */")
    for note, head, name, part, number, content, random, opened_part, flags, carried in rows:
        open_hash = hashlib.sha256(opened_part).digest() if opened_part is not None else None
        sealed = seal(seed, head, name, part, content, random, write, number, open_hash, flags, carried)
        item = "NULL" if name[3] is None else f'"{name[3].decode()}"'
        kind = f"DOCUMENT_{name[0].decode().upper()}"
        entries = ", ".join(f'"{entry.decode()}"' for entry in carried)
        print(f'{{"{note}", {kind}, {item}, {part}, {number}, "{head.hex()}", "{random.hex()}",\n'
              f' {"NULL" if open_hash is None else chr(34) + open_hash.hex() + chr(34)}, {flags},'
              f' "{content.decode().replace(chr(34), chr(92) + chr(34))}", {{{entries}}}, {len(carried)},\n "{sealed.hex()}"}},')


main()
