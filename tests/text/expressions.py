# Random regular expressions, and results of Hugging Face's library, for tests that compare with it.
#
# usage: expressions.py FILE COUNT
# Writes COUNT lines of JSON: an expression, texts, and the texts with "|" for each match; or null
# if the library refuses the expression.
import json
import random
import sys

from tokenizers import Regex, normalizers

ATOMS = list("abcABCsSkK019 .-_'éÉßſﬁ½²Σς日あ▁") + [
    "ss", "st", "'ll", "{", "}", "]", "\\.", "\\[", "\\]", "\\d", "\\D", "\\w", "\\W", "\\s", "\\S", "\\h", "\\H",
    "\\v", "\\Qa", "\\E", "\\t", "\\n", "\\r", "\\x41", "\\x{e9}", "\\u0041", "\\012", "\\R", "\\N", "\\O", "\\pL",
    "\\p{L}", "\\P{L}", "\\p{^L}", "\\p{N}", "\\p{Lu}", "\\p{M}", "\\p{Han}", "\\p{Word}", "\\P{Word}", "\\p{Punct}",
    ".", "[a-c]", "[^a-c]", "[½²]", "[\\w.]", "[\\W]", "[^\\s\\p{L}]", "[\\p{Word}]", "[[:alpha:]]", "[[:word:]]",
    "[[:punct:]]", "[[:^space:]]", "[[:digit:]ab]", "[[:upper:]]", "[a-z&&[^aeiou]]", "[a[bc]]", "[\\]a]", "[-a]",
    "\\b", "\\B", "^", "$", "\\A", "\\z", "\\G", "\\K"]
QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{1,}", "{,2}", "{1,3}+", "{2}+",
               "{2}?", "{1,2}?", "{3,1}", "{,}", "{0}", "{", "**", "+*", "{2}{2}"]
GROUPS = ["(", "(?:", "(?>", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?<n>", "(?m:"]
TEXTS = list("abcABCsSkK019 .-_'éÉßſﬁ½²Σς日あ▁\n\r\t\v{}[]vpLQE\u0301Ⅷ") + ["ss", "SS", "'LL", "aaa", "abc"]


def atom(numbers, depth):
    if depth > 0 and numbers.random() < 0.25:
        return numbers.choice(GROUPS) + expression(numbers, depth - 1) + ")"
    return numbers.choice(ATOMS)


def expression(numbers, depth):
    alternatives = []
    for _ in range(numbers.choice([1, 1, 1, 2, 3])):
        items = [atom(numbers, depth) + (numbers.choice(QUANTIFIERS) if numbers.random() < 0.35 else "")
                 for _ in range(numbers.randrange(1, 4))]
        alternatives.append("".join(items))
    return "|".join(alternatives)


def main():
    numbers = random.Random(1)
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        for _ in range(int(sys.argv[2])):
            one = numbers.choice(["", "", "", "(?i)"]) + expression(numbers, 2)
            texts = ["".join(numbers.choice(TEXTS) for _ in range(numbers.randrange(1, 12))) for _ in range(5)]
            results = None
            try:
                replace = normalizers.Replace(Regex(one), "|")
                results = [replace.normalize_str(text) for text in texts]
            except Exception:  # the library refuses it
                pass
            file.write(json.dumps(dict(expression=one, texts=texts, results=results)) + "\n")


if __name__ == "__main__":
    main()
