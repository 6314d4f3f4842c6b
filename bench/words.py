"""The input embeddings of a model as word vectors.   python words.py MODEL > words.txt"""

from __future__ import annotations

import sys

from transformers import AutoModel, AutoTokenizer


def main() -> None:
    vocabulary = AutoTokenizer.from_pretrained(sys.argv[1]).get_vocab()
    weight = AutoModel.from_pretrained(sys.argv[1]).get_input_embeddings().weight.detach()
    for word, row in vocabulary.items():
        if word.isalnum():
            print(word, *(f"{number:.5f}" for number in weight[row].tolist()))


if __name__ == "__main__":
    main()
