"""What programs.py does with each full example.

small     a training that only takes a moment
learn     one that learns, on generated data, in a few seconds
learns    what its report must say: the least value, or the least and the largest
input     lines that the learnt model is applied to, and the answers, a regular expression
stops     a run is stopped at every such call that changes files, an odd number: each second by Ctrl-C
ranks     a training in several processes, and device, one on another device
slow      whether a program without options is not run once more, with lost output
files     files, by their names
cases     runs, in this order: exit status, arguments, output (a regular expression), standard input
check     what else must hold, a function of the example
"""

import re
import shutil
import subprocess
from pathlib import Path

SOME = "need all of --train, --dev, or none; got some"
VECTORS = "the 1 2 3\nword3 3 4 5\nother 6 7 8\n"


def parts(file):
    return f"--train {file} --dev {file} --test {file}"


def conllu(*lines):
    """Lines "number form tag head label" as CoNLL-U; "" ends a sentence."""
    rows = (line.split() for line in lines)
    return "".join("{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n".format(*row) if row else "\n" for row in rows)


BANK = "".join(conllu("1 the DET 2 det", f"2 word{i} NOUN 0 root", "") for i in range(40))
PARSED = conllu("1 a DET 2 det", "2 girl NOUN 3 nsubj", "3 sees VERB 0 root", "4 the DET 5 det",
                "5 dog NOUN 3 obj", "6 with ADP 7 case", "7 hats NOUN 5 nmod", "8 . PUNCT 3 punct", "",
                "1 the DET 2 det", "2 king NOUN 3 nsubj", "3 hits VERB 0 root", "4 a DET 5 det",
                "5 dog NOUN 3 obj", "6 with ADP 7 case", "7 nets NOUN 3 obl", "8 . PUNCT 3 punct", "")  # fmt: skip
PARSED = ("# text = A girl sees the dog with hats.\n" + PARSED).replace(
    "4\tthe", "4-5\tthedog" + "\t_" * 8 + "\n4\tthe").replace(
    "5\tdog", "4.1\tgone" + "\t_" * 6 + "\t0:x\t_\n5\tdog", 1)  # fmt: skip
BARE = re.sub("\t[0-9]\t[a-z]+\t_\t", "\t_\t_\t_\t", PARSED)
CROSSING = conllu("1 a DET 3 det", "2 b DET 4 det", "3 c NOUN 4 obj", "4 d VERB 0 root", "")
VALUES = conllu("1 odd _ 0 true", "2 all _ 1 false", "3 yes _ 2 true", "4 no _ 2 false", "5 yes _ 1 true", "",
                "1 any _ 0 false", "2 no _ 1 false", "")  # fmt: skip
TEXTS = "".join(f"up\tthis was very good {i}\ndown\tthis was quite bad {i}\n" for i in range(40))
PAIRS = "".join(f"( a ( not b{i} ) )\ta b{i}\tno\n( a ( is b{i} ) )\ta b{i}\tyes\n" for i in range(40))
MOLECULES = "ring\tC C N 1-2 2=3 3-1\nchain\tC N C 1-2 2=3\nchain\tN\n" * 20
VERBS = ("walk", "run", "jump", "look")
COMMANDS = "".join(
    f"{a}\t{a.upper()}\n{a} twice\t{a.upper()} {a.upper()}\n{a} left\tLEFT {a.upper()}\n"
    f"{a} and {b}\t{a.upper()}  {b.upper()}\n{a} after {b} twice\t{b.upper()} {b.upper()} {a.upper()}\n"
    for a in VERBS for b in VERBS)  # fmt: skip


def parser(model, **more):
    """The row of a model of the parser."""
    bank = parts("bank.conllu")
    crossing = f"--model {model} --hidden 8 --epochs 1 --output crossing"
    return {
        "program": "parser",
        "small": f"--model {model} --train-sentences 40 --hidden 8 --min-count 1",
        "learn": f"--model {model} --train-sentences 800 --epochs 6", "stops": 19,
        "learns": {"uas": 0.9, "las": 0.9},
        "input": BARE, "answers": f"^{re.escape(PARSED)}$",
        "files": {"bank.conllu": BANK, "vectors": VECTORS, "cross.conllu": CROSSING,
                  "mixed.conllu": PARSED + CROSSING},
        "cases": [
            (0, "--apply --output learnt", f"^{re.escape(PARSED)}$", PARSED),
            (1, "--apply --output learnt", "^parser: standard input:1: ", "1\tthe\n\n"),
            (0, f"--model {model} {bank} --vectors vectors --hidden 16 --epochs 1 --output vectors_of",
             "3 of [0-9]+ words have vectors in vectors\n"),
            (2, f"--model {model} --dev nowhere", SOME),
            (1, f"--model {model} {parts('nowhere')}", "^parser: nowhere: there is no such file\n$"),
            *([] if model == "biaffine" else [
                (0, f"{crossing} --train mixed.conllu --dev cross.conllu --test cross.conllu",
                 "left out 1 training trees, which transitions cannot build\n(.*\n)*test: UAS [0-7][0-9.]+ %"),
                (2, f"{crossing} {parts('cross.conllu')}",
                 "^parser: need a tree without crossing arcs and with one root to learn from; got none\n$")]),
        ],
    } | more  # fmt: skip


def dynet_parser(example):
    """Sentence by sentence and in minibatches it prints the same; docs/migration.md has both loops."""
    outputs = [example.run(0, f"{way} --dynet-seed 1", stderr=subprocess.DEVNULL).split()
               for way in ("", "--batched")]  # fmt: skip
    assert outputs[0] == outputs[1], "need the same losses and trees with --batched"
    source = Path(__file__).parents[1] / "dynet_parser.cpp"
    page = (source.parents[2] / "docs/migration.md").read_text()
    for name in ("OneByOne", "Batched"):
        loop = re.search(rf"struct {name} {{\n(?:  .*\n|\n)*}};", source.read_text())
        assert loop and loop[0] + "\n```" in page, f"need the loop {name} in docs/migration.md"


def same_policy(example):
    assert example.run(0, "") == example.run(0, "--threads 3"), "need the returns of one thread"


def pipeline(example):
    """Trains a small pipeline, and applies it to text, lines of words and CoNLL-U."""
    data = Path(__file__).parents[2] / "data/sentences.conllu"
    train = (f"train --model m.safetensors --train {data} --dev {data} --epochs 50 "
             "--segmenter-epochs 80 --hidden 32 --layers 1 --checkpoints c")  # fmt: skip
    output = example.run(0, train, r"epoch 50/50: loss [0-9.]+, dev LAS (100|9[0-9])")
    assert re.search(r"\ndev F1: tokens (100|9\d)\S* %, words (100|9\d)\S* %, sentences ", output)
    first = (example.work / "m.safetensors").read_bytes()
    example.run(0, train + " --resume")  # has nothing left to do
    assert first == (example.work / "m.safetensors").read_bytes(), "need the same model after --resume"
    words = "Anna waited in the kitchen ."
    for name, text in (("text", f"\n{words}\n"), ("more", f"{words}\n{words}")):
        (example.work / name).write_text(text)
    apply = "apply --model m.safetensors"
    parsed = example.run(0, f"{apply} --threads 1 text",
                         rf"^# newdoc id = text\n# newpar\n# sent_id = 1\n# text = {words}\n"
                         r"1\tAnna\t_\tPROPN\t_\t_\t2\tnsubj\t_\tSpacesBefore=\\n\n")  # fmt: skip
    assert parsed == example.run(0, f"{apply} --threads 2 text"), "need the same of two threads"
    (example.work / "conllu").write_text(parsed)
    assert parsed == example.run(0, f"{apply} --input conllu conllu"), "need the same trees of the same words"
    example.run(0, f"{apply} --input horizontal",
                rf"^# sent_id = 1\n# text = {words}\n1\tAnna\t_\tPROPN", words)  # fmt: skip
    both = example.run(0, f"{apply} text more")
    assert re.findall(r"newdoc id = (\w+)", both) == ["text", "more"], both
    numbers = [int(number) for number in re.findall(r"sent_id = (\d+)", both)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 1, both
    for way in ("lines more", "horizontal more"):
        assert example.run(0, f"{apply} --input {way}").count(f"# text = {words}\n") == 2
    example.run(2, f"{apply} --input trees", "need --input text, lines, horizontal or conllu; got trees\n$")


def scan(example):
    """Searches give the same for lines together and alone. Samples do not depend on threads."""
    lines = ["run and jump\n", " \n", "walk after look twice\n", "fly left\n"]
    for way in ("--beam=4 --length-penalty=0.6", "--threads=2 --beam=3"):
        together = example.apply("whole", way, "".join(lines))
        assert together == "".join(example.apply("whole", way, line) for line in lines), way
        assert re.search(r"^RUN JUMP\n.*\nLOOK LOOK WALK\n.*LEFT.*\n$", together), together
    drawn = [example.apply("whole", f"--sample --threads {n}", "".join(lines)) for n in (1, 2)]
    assert drawn[0] == drawn[1], drawn


def use_moved_vectors(example):
    """Words that only --vectors has are known, also when its file is gone; a run needs it to resume."""
    shutil.move(example.work / "opinions.vec", example.work / "moved.vec")
    answers = example.apply("vectors_of", text="it was SUPERB\nit was dire\n")
    assert answers == "up\tit was SUPERB\ndown\tit was dire\n", answers
    example.run(1, "--resume --output vectors_of", "^text_classifier: opinions.vec: ")
    example.run(0, "--resume --output vectors_of --vectors moved.vec", "epoch [0-9] of 5")


NUMBERS = (("serve", "port", "-1", "a whole number from 0 to 65535"),
           ("apply", "threads", "4e9", "a whole number from 0 to 256"),
           ("train", "epochs", "1.5", "a whole number from 1 to 1000000"),
           ("train", "dropout", "1.5", "a number from 0 to 0.95"),
           ("train", "encoder-rate", "nan", "a number from 0 to 100"),
           ("train", "hidden", "many", "a whole number from 1 to 4096"))  # fmt: skip
NO_TREES = "--train-trees 60 --test-trees 20 --hidden 8 --max-tokens 30"

ROWS = {
    "tagger": {
        "small": "--train-sentences 60 --test-sentences 20 --hidden 8 --dropout 0.4", "stops": 3,
        "learn": "--train-sentences 300 --test-sentences 100 --hidden 32 --batch-size 8 --learning-rate 0.01 "
                 "--epochs 3 --crf",
        "learns": {"label_accuracy": 0.85},
        "input": "the vumo linapo the rous nuki .\n\n  she\tgivaned !\n",
        "answers": "^the\tDET\nvumo\t[A-Z]+\nlinapo\t[A-Z]+\nthe\tDET\n(.+\n)+\n"
                   "she\tPRON\ngivaned\tVERB\n!\tPUNCT\n\n$",
        "ranks": "--train-sentences 80 --test-sentences 30 --hidden 12 --embedding 8 --crf",
        "files": {"words": "in\tO\nAnn\tB-x\n\nat\tO\nLee\tB-x\n", "vectors": VECTORS, "bank.conllu": BANK},
        "cases": [
            (2, "--train x --dev x --test x --test-sentences 10",
             "need --train or --test-sentences; got both"),
            (2, "--train some", SOME),
            (0, f"{parts('words')} --hidden 8 --epochs 1 --outside-bias 100 --output none",
             "test entity_f1: "),
            (0, "--apply --output none", "^in\tB-x\nAnn\tB-x\n\n$", "in Ann\n"),
            (0, f"{parts('words')} --hidden 8 --epochs 1 --outside-bias -100 --output all --crf", ""),
            (0, "--apply --output all", "^in\tO\nAnn\tO\n\n$", "in Ann\n"),
            (0, f"{parts('bank.conllu')} --vectors vectors --hidden 8 --epochs 1 --output vectors_of",
             "3 of [0-9]+ words have vectors in vectors\n(.*\n)*test upos_accuracy: "),
        ],
    },
    "tree_lstm": {
        "small": NO_TREES,
        "learn": "--train-trees 6000 --test-trees 300 --max-tokens 30 --hidden 32 --epochs 4 "
                 "--learning-rate 0.01",
        "learns": {"test_accuracy": 0.45},
        "input": "0\t( ( ( [MAX 2 ) 9 ) ] )\n\n3\t( ( ( [MIN 2 ) 9 ) ] )\n",
        "answers": r"^\d\t0\t\( \( \( \[MAX 2 \) 9 \) \] \)\n\d\t3\t.*\n$",
        "device": "--train-trees 400 --test-trees 400 --max-tokens 30 --hidden 24 --embedding 16 --epochs 2",
        "ranks": "--train-trees 150 --test-trees 40 --hidden 12 --embedding 8 --max-tokens 30 --dropout 0.2",
        "files": {"train.tsv": "9\t( ( ( [MAX 2 ) 9 ) ] )\n", "test.tsv": "2\t( ( ( [MIN 2 ) 9 ) ] )\n",
                  "other.tsv": "8\t( ( ( [MAX 2 ) 8 ) ] )\n", "vectors": VECTORS,
                  "trees.txt": "(3 (2 the) (4 good))\n(1 (2 The) (0 bad))\n"},
        "cases": [
            (1, "--apply --output learnt", "standard input:3:5: ",
             "9\t( ( ( [MAX 2 ) 9 ) ] )\n\n9\t( bad\n"),
            (2, "--train trees.txt --dev trees.txt --test trees.txt --max-tokens 30",
             "need --max-tokens never for a treebank; got one"),
            (2, "--train trees.txt", SOME),
            (1, "--train nothing", "nothing: "),
            (2, "--train train.tsv --dev train.tsv", "need --dev only for a treebank; got one"),
            (0, "--train train.tsv --test test.tsv --test-trees 20 --epochs 1 --hidden 8 --output lists", ""),
            (2, "--resume --epochs 2 --output lists --train other.tsv", "data was .*; got "),
            (0, f"{parts('trees.txt')} --hidden 8 --min-count 1 --epochs 1 --vectors vectors --lower-case "
             "--output trees", "^3 of 6 words have vectors in vectors\n"),
            (0, "--resume --epochs 2 --output trees", "epoch 2/2"),
            (0, "--apply --output trees", r"^[0-4]\t\(3 \(2 the\) \(4 good\)\)\n$",
             "(3 (2 the) (4 good))\n"),
        ],
    },
    "language_model": {
        "small": "--sentences 100 --hidden 8 --layers 2 --dropout 0.2",
        "learn": "--sentences 1500 --hidden 48 --epochs 4",
        "learns": {"nats_per_character": (0.33, 0.55)},  # no model can do better than 0.337
        "input": "the dogs sleep\n\nthe dogs sleeps\n",
        "answers": r"^0\.[0-9]{4}\tthe dogs sleep\n\d\.[0-9]{4}\t\n[0-9.]{6}\tthe dogs sleeps\n$",
        "ranks": "--sentences 100 --hidden 12 --layers 2 --dropout 0.2 --clip 0.1 --sequence-length 16",
        "files": {"text": "to be or not to be\n" * 60},
        "cases": [
            (0, "--sample 20 --output learnt --prompt the", "^the.{17}", ""),
            (0, "--train text --level word --hidden 16 --epochs 2 --output words",
             r"perplexity \d+\.\d per word\n"),
            (0, "--apply --output words", r"^\d\.[0-9]{4}\tto see\n$", "to see\n"),
            (2, "--train x --sentences 100", "need --sentences never with --train; got one"),
            (2, "--level letter", 'need character.word for --level; got "letter"'),
            (2, "--sample 10 --threads 2", "need --sample with no options but "),
            (2, "--sample 0", ""),
            (2, "--apply --prompt x", ""),
            (2, "--staleness 1 --sentences 100", "need processes that share each minibatch"),
        ],
    },
    "text_classifier": {
        "small": "--train-texts 40 --hidden 8",
        "learn": "--train-texts 2000 --epochs 8",
        "learns": {"dev_accuracy": 0.9},
        "input": "word1 good\n\nbad\n", "answers": "^positive\tword1 good\n[a-z]+\t\nnegative\tbad\n$",
        "files": {"texts.tsv": TEXTS, "broken.vec": "good 1 2\nbad 1\n",
                  "opinions.vec": "6 2\nGOOD 1 0\ngood 9 0 \nbad -9 0\nsuperb 9 0\ndire -9 0\n77 0 1\n"},
        "cases": [
            (0, f"{parts('texts.tsv')} --output texts",
             "dev accuracy 100.00 %(.*\n)*test accuracy: 100.00 %\n"),
            (0, "--apply --output texts", "^up\tit was good\n(up|down)\t\ndown\tit was bad\n$",
             "it was good\n\nit was bad\n"),
            (2, "--train texts.tsv", SOME),
            (2, "--test texts.tsv", "need all of --train, --dev, --test, or none; got some"),
            (2, f"{parts('texts.tsv')} --train-texts 10",
             "need --train-texts never with --train; got one"),
            (1, parts("none.tsv"), "^text_classifier: none.tsv: "),
            (0, f"{parts('texts.tsv')} --vectors opinions.vec --lower-case --digits --epochs 5 "
             "--output vectors_of",
             "^5 of 12 words have vectors in opinions.vec\n(.*\n)*.*dev accuracy 100.00 %"),
            (0, f"{parts('texts.tsv')} --vectors opinions.vec --more-words 1 --epochs 1 --output fewer",
             "^3 of [0-9]+ words have vectors"),
            (1, f"{parts('texts.tsv')} --vectors opinions.vec --embedding 3 --output none",
             "^text_classifier: opinions.vec:2: need vectors of 3 numbers for /embedding/E; got 2\n$"),
            (1, f"{parts('texts.tsv')} --vectors broken.vec --output none",
             "^text_classifier: broken.vec:2: need a word and 2 finite numbers; got "),
        ],
        "check": use_moved_vectors,
    },
    "sentence_pairs": {
        "small": "--train-pairs 40 --hidden 8",
        "learn": "--train-pairs 4000 --hidden 48 --epochs 4",
        "learns": {"dev_accuracy": 0.6},
        "input": "( all dogs )\tno dogs\n",
        "answers": r"^(entailment|contradiction|neutral)\t\( all dogs \)\tno dogs\n$",
        "files": {"pairs.tsv": PAIRS, "vectors": VECTORS, "broken.tsv": "( a ( ) )\tb\tyes\n"},
        "cases": [
            (0, f"{parts('pairs.tsv')} --output pairs",
             "and 80 for test;(.*\n)*.*dev accuracy 100.00 %(.*\n)*test accuracy: 100.00 %\n"),
            (1, "--apply --output pairs",
             "standard input:3: need 2 columns with tabs between them; got 3\n$",
             "( a b7 )\t( a ( not b7 ) )\n\n( a b7 )\ta\tis b7\n"),
            (0, "--apply --output pairs",
             r"^no\t\( a \( not b7 \) \)\ta b7\nyes\t\( a \( is b7 \) \)\ta b7\n$",
             "( a ( not b7 ) )\ta b7\n\n( a ( is b7 ) )\ta b7\n"),
            (1, "--train broken.tsv --dev pairs.tsv",
             '^sentence_pairs: broken.tsv: need words, in brackets that match; got "'),
            (0, f"{parts('pairs.tsv')} --vectors vectors --epochs 1 --output vectors_of",
             "^3 of [0-9]+ words have vectors in vectors\n"),
        ],
    },
    "transformer_tagger": {
        "small": "--train-sentences 40 --hidden 8 --size 8",
        "learn": "--train-sentences 800 --size 64 --hidden 128 --epochs 10 --learning-rate 0.003",
        "learns": {"dev_accuracy": 0.9},
        "input": "the word1\n\nto\n", "answers": "^the\tDET\nword1\tNOUN\n\nto\tPART\n\n$",
        "files": {"bank.conllu": BANK, "vectors": VECTORS},
        "cases": [
            (0, f"{parts('bank.conllu')} --vectors vectors --output tags",
             "^3 of [0-9]+ words have vectors in vectors\n(.*\n)*test accuracy: 100.00 %\n"),
            (0, "--apply --output tags", "^the\tDET\nword7\tNOUN\n\nthe\tDET\nword12\tNOUN\n\n$",
             "the word7\n\nthe word12\n"),
            (2, "--test x", "need all of --train, --dev, --test, or none; got some"),
        ],
    },
    "parser": parser("biaffine", learn="--model biaffine --train-sentences 800 --epochs 10"),
    "parser_transition": parser(
        "transition", ranks="--model transition --train-sentences 100 --hidden 12"),
    "parser_stack_lstm": parser("stack-lstm"),
    "dependency_tree_lstm": {
        "small": "--train-trees 40 --hidden 8",
        "learn": "",
        "learns": {"with_dependants": 0.95},
        "input": re.sub("true|false", "_", VALUES), "answers": f"^{VALUES}$",
        "files": {"bank.conllu": BANK, "vectors": VECTORS},
        "cases": [
            (0, "--apply --output learnt", f"^{VALUES}$", VALUES),
            (0, f"{parts('bank.conllu')} --vectors vectors --hidden 8 --epochs 1 --output vectors_of",
             "^3 of [0-9]+ words have vectors in vectors\n"),
            (0, "--flat --epochs 4 --output flat",
             r"\ntest: [3-7]\d\.\d % of \d+ words with dependants"),
            (2, "--dev nowhere", SOME),
        ],
    },
    "seq2seq": {
        "small": "--train-pairs 60 --test-pairs 20 --hidden 8 --max-length 20",
        "learn": "--train-pairs 1500 --test-pairs 100 --hidden 48 --epochs 6",
        "learns": {"exact_match": 0.5},
        "input": "jump twice\nrun left after walk\n", "answers": "^JUMP JUMP.*\nWALK LEFT RUN\n$",
        "files": {"pairs.tsv": COMMANDS, "tasks_train.txt": "IN: jump OUT: I_JUMP\nIN: run OUT: I_RUN\n" * 30,
                  "tasks_test.txt": "IN: run OUT: I_RUN\nIN: jump OUT: I_JUMP\n"},
        "cases": [
            (0, f"{parts('pairs.tsv')} --hidden 32 --embedding 16 --dropout 0 --batch-size 8 "
             "--learning-rate 0.01 --decay 1 --epochs 20 --output whole", "test: 100.00 % of 80 sentences are right"),
            (0, "--train tasks_train.txt --test tasks_test.txt --hidden 16 --epochs 8 "
             "--learning-rate 0.02 --output scan",
             "57 samples for training, 3 for dev and 2 for test(.*\n)*test: 100.00 % of 2 sentences"),
            (2, "--train tasks_train.txt --test tasks_test.txt --test-pairs 10", ""),
            (2, "--train pairs.tsv --dev pairs.tsv",
             "need all of --train, --test, or none; got some"),
            (2, "--dev pairs.tsv", "need all of --train, --dev, --test, or none; got some"),
            (2, "--sample --beam 3", "need --sample or --beam; got both"),
            (2, "--train-pairs 20000 --test-pairs 1000", "need at most 20910 generated pairs"),
        ],
        "check": scan,
    },
    "graph_network": {
        "small": "--train-molecules 40 --hidden 8",
        "learn": "",
        "learns": {"dev_accuracy": 0.9},
        "input": "C O N 1=2 1-3\n\nO\n", "answers": "^amide\tC O N 1=2 1-3\nnone\tO\n$",
        "files": {"molecules.tsv": MOLECULES},
        "cases": [
            (0, f"{parts('molecules.tsv')} --output molecules", "test accuracy: 100.00 %"),
            (0, "--apply --output molecules", "^chain\tN\nring\tC C N 3-1 1-2 2=3\n$",
             "N\n\nC C N 3-1 1-2 2=3\n"),
            *((1, "--apply --output molecules",
               f'standard input:2: need two atoms from 1 to 2 in a bond; got "{bond}"\n$', f"N\nC C {bond}\n")
              for bond in ("1-3", "0-1", "1-", "1-x", "1-2-1")),
        ],
    },
    "pipeline": {
        "slow": True,
        "cases": [
            (0, "--help", "usage: pipeline train --model (.*\n)*.*--input arg"),
            (2, "", "need train, apply or serve; got nothing; see pipeline --help\n$"),
            (2, "train --model a.safetensors", "'--dev' is required.*; see pipeline --help\n$"),
            (1, "apply --model nowhere.safetensors", "^pipeline: nowhere.safetensors: "),
            (2, "train --model model --train x --dev x",
             "need a model whose name ends in .safetensors; got model\n$"),
            (2, "train --model m.safetensors --train x --dev x --resume",
             "--resume needs --checkpoints\n$"),
            *((2, f"{command} --model nowhere.safetensors --{option} {value}",
               f'^pipeline: need {rule} for --{option}; got "{value}"\n$')
              for command, option, value, rule in NUMBERS),
        ],
        "check": pipeline,
    },
    "greedy_decoder": {"slow": True, "cases": [(0, "", r"\n(100|9[5-9])\S* % of 1000 new numbers are right\n$")]},
    "relation_tree": {
        "cases": [
            (0, "--explain",
             r"tree node +[0-9]+ (.*\n)*(100|9[5-9])\S* % of 1000 new trees are right\n$"),
            (2, "--no-such-option", "usage: relation_tree"),
        ],
    },
    "reinforce": {
        "cases": [
            (0, "", r"\nmean return (1\.0|0\.9[5-9])\d* in 1000 new episodes\n$"),
            (2, "--threads 0", 'need a whole number from 1 to 256 for --threads; got "0"\n$'),
            (2, "--help", r"usage: reinforce \[--threads N\]\n$"),
        ],
        "check": same_policy,
    },
    "dynet_parser": {
        "cases": [(0, "", r"epoch 3: loss \S+\n(.*\n)*(100|99)\S* % of 256 sentences' heads are right\n$")],
        "check": dynet_parser,
    },
    "dynet_language_model": {
        "cases": [
            (0, "--dynet-seed 1", r"epoch 15: 0\.[0-5]\d* nats"),
            (0, "--help", "usage: "),
            (2, "--no-such-option", "usage: "),
            (1, "no_such_file", "cannot read no_such_file"),
        ],
    },
}  # fmt: skip
