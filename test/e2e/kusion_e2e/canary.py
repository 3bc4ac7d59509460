"""Secret values that can be found again, in each form that a message may give to them."""

import base64
import json
import random
import string

_RANDOM = random.Random()


class Canary:
    """`data` is the value in a Secret's data. It is what a reference gives, and is a word, such as
    names and labels are made of: Base64 of bytes that are no text. With plain=True it is Base64 of a
    text with all that is quoted in JSON and in Go."""

    def __init__(self, plain=False):
        word = "".join(_RANDOM.choices(string.ascii_lowercase + string.digits, k=20))
        if plain:
            self.plain = f'c{word}"\\<\t>&\'\u00e4'
            self.data = base64.b64encode(self.plain.encode()).decode()
        else:
            self.plain, self.data = None, f"cana{word}"
        assert base64.b64encode(base64.b64decode(self.data)).decode() == self.data

    def forms(self):
        """What gives it away: text that has nothing but the canary in it."""
        data = self.data.encode()
        found = _encoded(data) | {self.data, self.data[:12], self.data[-12:], data.hex(),
                                  " ".join(map(str, data))}
        if self.plain:
            text = self.plain
            found |= _encoded(text.encode()) | {text[:21], text, json.dumps(text)[1:-1],
                                               json.dumps(text, ensure_ascii=False)[1:-1]}
        return found

    def is_in(self, text):
        return any(form in text for form in self.forms())


def _encoded(data):
    """Base64 of it wherever it begins in a longer text, in three alignments: what does not depend on
    the text around it."""
    found = set()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        # The characters that hold bits of what is before or after it.
        first = (shift * 8 + 5) // 6
        found.add(encoded[first:-2])
    return found
