#!/usr/bin/env python3
"""Words per second from raw text, of one thread: the program pipeline, spaCy and UDPipe.

usage: pipeline_peers.py TEXT [--pipeline PROGRAM MODEL] [--spacy FOLDER] [--udpipe MODEL]
Each reads the whole text in every round, by turns. Processor time counts, without that of loading the
model. spaCy's FOLDER has config.cfg; UDPipe's MODEL is a file. Needs the packages of PyPI that are
asked for: spacy, ufal.udpipe.
"""
import argparse
import os
import resource
import statistics
import subprocess
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"):
    os.environ[name] = "1"


def pipeline(program, model):
    """Ours is a program: processor time of a run, less that of a run without text."""
    def seconds(path):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = subprocess.run([program, "apply", "--model", model, "--threads", "1", path],
                                check=True, stdout=subprocess.PIPE).stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = sum(line[:1].isdigit() and "-" not in line.split("\t")[0]
                    for line in output.decode().splitlines())
        return words, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def run(path):
        words, whole = seconds(path)
        return words, whole - seconds(os.devnull)[1]
    return run


def spacy(folder):
    """Paragraphs by nlp.pipe, which batches them."""
    import spacy
    nlp = spacy.load(folder)

    def run(path):
        with open(path, encoding="utf-8") as file:
            paragraphs = file.read().split("\n\n")
        begin = time.process_time()
        words = sum(len(document) for document in nlp.pipe(paragraphs, batch_size=64))
        return words, time.process_time() - begin
    return run


def udpipe(path):
    import ufal.udpipe
    model = ufal.udpipe.Model.load(path)
    run_pipeline = ufal.udpipe.Pipeline(model, "tokenize", ufal.udpipe.Pipeline.DEFAULT,
                                        ufal.udpipe.Pipeline.DEFAULT, "conllu")

    def run(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        begin = time.process_time()
        output = run_pipeline.process(text)
        seconds = time.process_time() - begin
        words = sum(line[:1].isdigit() and "-" not in line.split("\t")[0]
                    for line in output.splitlines())
        return words, seconds
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("text")
    parser.add_argument("--pipeline", nargs=2, metavar=("PROGRAM", "MODEL"))
    parser.add_argument("--spacy", metavar="FOLDER")
    parser.add_argument("--udpipe", metavar="MODEL")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runs = {}
    if options.pipeline:
        runs["pipeline"] = pipeline(*options.pipeline)
    if options.spacy:
        runs["spaCy"] = spacy(options.spacy)
    if options.udpipe:
        runs["UDPipe"] = udpipe(options.udpipe)
    rates = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            words, seconds = run(options.text)
            rates[name].append(words / seconds)
    for name, all_rates in rates.items():
        print(f"{name}: {statistics.median(all_rates):.0f} words/s "
              f"({min(all_rates):.0f} to {max(all_rates):.0f})")


main()
