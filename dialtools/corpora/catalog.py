"""The corpora and exports that can be read as they were published, and what tells one from another.

A corpus is a module of `corpora.native` with two functions: `raw(files)` yields its raw records
(`raw.Raw`), in order, and `record(raw)` returns the record of one, a dialogue {"id", "split",
"domain", "turns": [{"speaker": "user" or "system", "text", "slots", "acts"}]}, an utterance
{"text", "label", "split", "slots"}, two texts {"text1", "text2", "label" or "score", "split"}, or a
response {"history", "response", "candidates", "split"}; `Unexpected` tells what it found instead.
What of a raw record is no turn it counts by reason under `raw.LEFT_OUT`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from types import ModuleType

from dialtools.catalog import Entry

NATIVE = "dialtools.corpora.native"
JSON_FILES = ("*.json", "*.jsonl", "*.ndjson")
ANY_JSON = tuple((name,) for name in JSON_FILES)
JSON = r"(?:\[\s*)?\{"
"""How JSON of one record begins, or of several."""
WORD = r"[^\W\d][^\s\d:,،;!?()\[\]<>]{0,11}"
"""Beside a time: letters, and what marks and shortens them."""
CLOCK = rf"(?:{WORD},?\s?)?\d{{1,2}}[:.]\d\d(?:[:.]\d\d)?(?:\s?{WORD}){{0,2}}"
SPEAKS = (
    r"(?:[^\s:|][^:|\n]{0,59}?(?: {2,}|\t|\s?(?=[(\[]))[(\[]?\d{1,3}:\d\d(?::\d\d)?[)\]]?:?"
    r"|\d{1,3}:\d\d(?::\d\d)?\s?\|\s?[^\s:|][^:|\n]{0,59})"
)
"""A line of who speaks and when, in transcripts."""
MARKS = r"[\u200e\u200f]?"
"""Of direction, which may stand anywhere in a line of WhatsApp."""
DATE = rf"\d{{1,4}}{MARKS}[./-]\s?\d{{1,2}}{MARKS}[./-]\s?\d{{1,4}}\.?{MARKS}"
LANGFUSE = "(?:GENERATION|SPAN|EVENT|AGENT|CHAIN|TOOL|RETRIEVER)"
DIALOGUES, UTTERANCES, TEXTS, RESPONSES = "dialogues", "utterances", "two texts", "responses"
SNIPS_INTENTS = (
    "AddToPlaylist",
    "BookRestaurant",
    "GetWeather",
    "PlayMusic",
    "RateBook",
    "SearchCreativeWork",
    "SearchScreeningEvent",
)


@dataclass(frozen=True)
class Corpus(Entry):
    """A published corpus.

    Attributes:
        kind: what its records are.
        alone: names of a file that can be nothing else: read so without --from.
        marks: sets of file names that together tell a folder or an archive (as does any of
            `alone`).
        opening: a regular expression of how its files begin (16 KiB of them): any single file that
            does is read so, and of a folder or an archive the first file of a mark has to.
        licence: of the data, as its publisher states it.
        source: where it was published.
    """

    kind: str = DIALOGUES
    alone: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()
    opening: str = ""
    licence: str = ""
    source: str = ""

    def load(self) -> ModuleType:
        """Import the reader."""
        return import_module(self.target)


def _corpus(summary: str, *, module: str = "", **fields: object) -> Corpus:
    return Corpus(module, summary, **fields)  # type: ignore[arg-type]


_export = partial(_corpus, licence="yours")


_BY_NAME: dict[str, Corpus] = {
    "multiwoz": _corpus(
        "MultiWOZ 2.0 to 2.4, data.json",
        marks=(("data.json", "valListFile*"), ("data.json", "testListFile*")),
        licence="MIT",
        source="github.com/budzianowski/multiwoz",
    ),
    "multiwoz22": _corpus(
        "MultiWOZ 2.2, dialogues in SGD's layout",
        marks=(("dialog_acts.json", "dialogues_[0-9]*.json"),),
        licence="MIT",
        source="github.com/budzianowski/multiwoz (data/MultiWOZ_2.2)",
    ),
    "multiwoz22-text": _corpus(
        "MultiWOZ 2.2 as text, [ ] around values",
        marks=(("*_dialogues_[0-9][0-9][0-9].txt",),),
        licence="MIT",
        source="github.com/budzianowski/multiwoz (exported)",
    ),
    "woz": _corpus(
        "WOZ 2.0",
        alone=tuple(f"woz_{part}_??.json" for part in ("train", "validate", "test")),
        licence="Apache-2.0",
        source="github.com/nmrksic/neural-belief-tracker",
    ),
    "camrest676": _corpus(
        "CamRest676",
        alone=("*CamRest676.json",),
        licence="Apache-2.0",
        source="github.com/shawnwun/NNDIAL; www.repository.cam.ac.uk/handle/1810/260970",
    ),
    "dstc2": _corpus(
        "DSTC2, as published or in WOZ's layout",
        alone=("dstc2_*_en.json",),
        marks=(("dstc2_*.flist", "log.json"),),
        licence="GPL-3.0",
        source="github.com/matthen/dstc",
    ),
    "m2m": _corpus(
        "M2M (GSIM), simulated dialogues",
        marks=(("sim-M/*.json",), ("sim-R/*.json",), ("sim-GEN/*.json",)),
        licence="none stated",
        source="github.com/google-research-datasets/simulated-dialogue",
    ),
    "convlab": _corpus(
        "ConvLab's unified format",
        marks=(("dialogues.json", "ontology.json"),),
        licence="of each data set",
        source="github.com/ConvLab/ConvLab-3 (data/unified_datasets)",
    ),
    "citod": _corpus(
        "CI-ToD, inconsistent responses",
        kind=RESPONSES,
        marks=(("calendar_*.json", "navigate_*.json"),),
        licence="MIT",
        source="github.com/yizhen20133868/CI-ToD",
    ),
    "decode": _corpus(
        "DECODE, contradictions",
        kind=RESPONSES,
        marks=(("human-bot.jsonl", "rct.jsonl"), ("a2t.jsonl", "rct.jsonl")),
        licence="none stated",
        source="parl.ai/projects/contradiction",
    ),
    "sgd": _corpus(
        "Schema-Guided Dialogue",
        marks=(("schema.json", "dialogues_[0-9]*.json"), ("dev/dialogues_[0-9]*.json",)),
        licence="CC BY-SA 4.0",
        source="github.com/google-research-datasets/dstc8-schema-guided-dialogue",
    ),
    "smd": _corpus(
        "Stanford multi-domain dialogues (KVRET)",
        alone=("kvret_*_public.json",),
        licence="none stated",
        source="nlp.stanford.edu/blog/a-new-multi-turn-multi-domain-task-oriented-dialogue-dataset",
    ),
    "iob": _corpus(
        "SNIPS and ATIS with IOB tags",
        kind=UTTERANCES,
        marks=(("seq.in", "seq.out"),),
        licence="SNIPS CC0, ATIS LDC",
        source="github.com/MiuLab/SlotGated-SLU",
    ),
    "clinc150": _corpus(
        "CLINC150, intents and what is out of scope",
        kind=UTTERANCES,
        alone=("data_oos_plus.json",),
        marks=(("data_full.json", "domains.json"),),
        licence="CC BY 3.0",
        source="github.com/clinc/oos-eval",
    ),
    "banking77": _corpus(
        "BANK77, intents",
        kind=UTTERANCES,
        marks=(("train.csv", "test.csv", "categories.json"),),
        licence="CC BY 4.0",
        source="github.com/PolyAI-LDN/task-specific-datasets",
    ),
    "dialoglue": _corpus(
        "CLINC150, HWU64 and BANK77 as DialoGLUE has them",
        module="banking77",
        kind=UTTERANCES,
        licence="CC BY 4.0",
        source="github.com/alexa/dialoglue",
    ),
    "snips": _corpus(
        "SNIPS, intents and slots, as Sonos published it",
        kind=UTTERANCES,
        alone=tuple(
            f"{part}_{intent}*.json" for part in ("train", "validate") for intent in SNIPS_INTENTS
        ),
        licence="CC0",
        source="github.com/sonos/nlu-benchmark",
    ),
    "atis": _corpus(
        "ATIS, intents and slots, as Rasa's JSON",
        kind=UTTERANCES,
        alone=("atis*.w-intent.iob",),
        marks=(("rasa/train.json", "rasa/test.json"),),
        licence="LDC",
        source="github.com/howl-anderson/ATIS_dataset",
    ),
    "hwu64": _corpus(
        "HWU64, intents and slots",
        kind=UTTERANCES,
        alone=("NLU-Data-Home-Domain-Annotated-All*.csv",),
        marks=(("trainset/alarm_query.csv", "testset/csv/alarm_query.csv"),),
        licence="CC BY 4.0",
        source="github.com/xliuhw/NLU-Evaluation-Data",
    ),
    "massive": _corpus(
        "MASSIVE, intents and slots in 51 languages",
        kind=UTTERANCES,
        marks=(("[a-z][a-z]-[A-Z][A-Z].jsonl",),),
        opening=r'\{\s*"id":\s*"\d+",\s*"locale":\s*"[a-z]{2}-[A-Z]{2}",(?=.*"utt":)',
        licence="CC BY 4.0",
        source="github.com/alexa/massive",
    ),
    "snli": _corpus(
        "SNLI, premises and hypotheses",
        kind=TEXTS,
        alone=("snli_1.0_*.jsonl", "snli_1.0_*.txt"),
        licence="CC BY-SA 4.0",
        source="nlp.stanford.edu/projects/snli",
    ),
    "mnli": _corpus(
        "MNLI, premises and hypotheses",
        kind=TEXTS,
        alone=("multinli_1.0_*.jsonl", "multinli_1.0_*.txt"),
        licence="OANC and others",
        source="cims.nyu.edu/~sbowman/multinli",
    ),
    "dnli": _corpus(
        "Dialogue NLI",
        kind=TEXTS,
        alone=("dialogue_nli_*.jsonl",),
        licence="CC BY 4.0",
        source="wellecks.com/dialogue_nli",
    ),
    "stsb": _corpus(
        "STS benchmark, similarity of two sentences",
        kind=TEXTS,
        alone=("sts-train.csv", "sts-dev.csv", "sts-test.csv"),
        licence="those of its sources",
        source="ixa2.si.ehu.eus/stswiki",
    ),
    "sick": _corpus(
        "SICK, relatedness and entailment",
        kind=TEXTS,
        alone=("SICK.txt", "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
        licence="CC BY-NC-SA 3.0",
        source="marcobaroni.org/composes/sick.html",
    ),
    "metalwoz": _corpus(
        "MetaLWOZ",
        marks=(("dialogues/*.txt", "tasks.txt"),),
        opening=r'\{\s*"id":(?=.*"user_id":)(?=.*"bot_id":)(?=.*"task_id":)',
        licence="Microsoft Research Data License",
        source="www.microsoft.com/en-us/research/project/metalwoz",
    ),
    "taskmaster": _corpus(
        "Taskmaster-1 to -4",
        alone=("self-dialogs.json", "woz-dialogs.json"),
        marks=(("food-ordering.json", "restaurant-search.json"), ("data_00.json", "data_01.json")),
        licence="CC BY 4.0",
        source="github.com/google-research-datasets/Taskmaster",
    ),
    "msr-e2e": _corpus(
        "MSR-E2E: movies, restaurants, taxis",
        alone=("movie_all.tsv", "restaurant_all.tsv", "taxi_all.tsv"),
        licence="Microsoft's own",
        source="github.com/xiul-msr/e2e_dialog_challenge",
    ),
    "frames": _corpus(
        "Frames",
        alone=("frames.json",),
        licence="Microsoft's own",
        source="www.microsoft.com/en-us/research/project/frames-dataset",
    ),
    "abcd": _corpus(
        "Action-Based Conversations",
        alone=("abcd_v1.*.json", "abcd_v1.*.json.gz"),
        licence="MIT",
        source="github.com/asappresearch/abcd",
    ),
    "empathetic": _corpus(
        "EmpatheticDialogues",
        marks=(("train.csv",), ("valid.csv",), ("test.csv",)),
        opening="conv_id,utterance_idx,context,prompt,speaker_idx,utterance,",
        licence="CC BY-NC 4.0",
        source="github.com/facebookresearch/EmpatheticDialogues",
    ),
    "dstc7-ubuntu": _corpus(
        "DSTC7 track 1, Ubuntu: response selection",
        kind=RESPONSES,
        alone=(
            "ubuntu_train_subtask_1*.json",
            "ubuntu_dev_subtask_1.json",
            "ubuntu_test_subtask_1.json",
        ),
        licence="Apache-2.0",
        source="ibm.github.io/dstc-noesis",
    ),
    "ubuntu-irc": _corpus(
        "Ubuntu IRC with reply links: response selection",
        kind=RESPONSES,
        alone=("*.ascii.txt",),
        licence="CC BY 4.0",
        source="github.com/jkkummerfeld/irc-disentanglement",
    ),
    "amazonqa": _corpus(
        "Amazon questions and answers",
        kind=RESPONSES,
        marks=(("qa_[A-Z]*.json*",),),
        opening=r"\{\s*['\"](?:questionType|asin)['\"]:\s*['\"]",
        licence="none stated",
        source="jmcauley.ucsd.edu/data/amazon/qa",
    ),
    "parlai": _corpus(
        "ParlAI's text formats, bAbI's and Persona-Chat's too; an episode a dialogue",
        opening=r"(?:[a-z_]+:[^\t\n]*\t){0,4}text:[^\n]*\t *(?:eval_)?labels:"
        r"|(?=1 )(?:\d{1,2} [^\t\n]+\n){0,40}\d{1,2} [^\t\n]*\t[^\t\n]+(?:\t[^\n]*)?"
        r"(?:\n\n?\d{1,2} |\n?\Z)",
        licence="as its source says",
        source="parl.ai/docs",
    ),
    "parlai-responses": _corpus(
        "the same, an example a response with its candidates",
        kind=RESPONSES,
        licence="as its source says",
        source="parl.ai/docs",
    ),
    "dailydialog": _corpus(
        "DailyDialog, and other lines with __eou__ between turns",
        alone=("dialogues_text.txt",),
        marks=(("dialogues_train.txt",), ("dialogues_validation.txt",), ("dialogues_test.txt",)),
        opening=r"(?![\[{])[^\n]*\S ?__eou__(?:\s|\Z)",
        licence="CC BY-NC-SA 4.0",
        source="yanran.li/dailydialog",
    ),
    "ecd-select": _corpus(
        "DialogueCSE's retrieval sets of ECD and JDDC, select.txt; dial-embed",
        kind=UTTERANCES,
        licence="Apache-2.0",
        source="github.com/wangruicn/DialogueCSE",
    ),
    "ecd-sts": _corpus(
        "its similarity sets, sts.txt; dial-embed",
        kind=TEXTS,
        licence="Apache-2.0",
        source="github.com/wangruicn/DialogueCSE",
    ),
    "chatgpt": _export(
        "ChatGPT's data export, the branches that are shown",
        marks=(("conversations.json",), ("conversations-[0-9]*.json",)),
        opening=rf'{JSON}(?=.*"(?:create_time|current_node)":)(?=.*"mapping":)',
        source="chatgpt.com (Settings, Data controls, Export)",
    ),
    "claude": _export(
        "Claude's data export; of each conversation the last branch",
        marks=(("conversations.json",),),
        opening=rf'{JSON}(?=.*"uuid":)(?=.*"chat_messages":)',
        source="claude.ai (Settings, Privacy, Export data)",
    ),
    "slack": _export(
        "Slack's export: a thread, or a channel's day without them, a dialogue",
        marks=(
            ("*/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json", "users.json"),
            ("*/[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json", "channels.json"),
        ),
        opening=r'\[\s*\{(?=.*"type":\s*"message")(?=.*"ts":\s*"\d{9,}\.\d)',
        source="slack.com/help (Export your workspace data)",
    ),
    "teams": _export(
        "Microsoft Teams: messages of Graph's API, or a personal export; a thread or a chat",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"messageType":)(?=.*"createdDateTime":)(?=.*"(?:body|from)":)'
        rf'|{JSON}(?=.*"exportDate":)(?=.*"MessageList":)',
        source="learn.microsoft.com/graph; go.skype.com/export",
    ),
    "discord": _export(
        "Discord's channels, as DiscordChatExporter's JSON",
        marks=(("*.json",),),
        opening=r'\{\s*"guild":\s*\{',
        source="github.com/Tyrrrz/DiscordChatExporter",
    ),
    "telegram": _export(
        "Telegram Desktop's export, result.json",
        marks=(("result.json",),),
        opening=r'\{(?=.*"type":\s*"(?:personal|bot|private|public|saved)_(?:chat|\w*group|channel'
        r'|messages)"|\s*"about":\s*"Here is the data you requested)',
        source="telegram.org/blog/export-and-more",
    ),
    "messenger": _export(
        "Messenger's and Instagram's chats as their downloads have them (JSON), encrypted ones too",
        marks=(("message_1.json",), ("*.json",)),
        opening=r'\{\s*"participants":\s*\[(?=.*"(?:sender_name|timestamp_ms)":)'
        r'|\{(?=.*"threadName":)(?=.*"isUnsent":)',
        source="facebook.com/help (Download a copy of your information)",
    ),
    "subtitles": _export(
        "WebVTT and SubRip: transcripts of Teams, Zoom and Meet, subtitles; a file a dialogue",
        opening=r"WEBVTT(?:\s|\Z)|\d{1,4}\s*\n\d{1,2}:\d\d:\d\d[.,]\d{3}\s+-->\s",
        source="your meetings' transcripts",
    ),
    "transcript": _export(
        "transcripts as text, a line of who speaks and when above each turn: Otter, Rev, Teams",
        marks=(("*.txt",),),
        opening=rf"(?:(?:[^\n]*\n){{0,40}}?{SPEAKS}[ \t\r]*\n[ \t]*\S[^\n]*\n){{2}}",
        source="your meetings' transcripts",
    ),
    "irc": _export(
        "IRC logs: energymech, mIRC, ZNC, irssi, HexChat, WeeChat, The Lounge; a day a dialogue",
        marks=(("*.log",), ("*.weechatlog",)),
        opening=r"--- Log opened |\*{4} BEGIN LOGGING AT |Session Start: "
        r"|\[?(?:\d{4}-\d\d-\d\d[ T]|[A-Z][a-z]{2} \d\d )?\d\d:\d\d(?::\d\d)?"
        r"(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?\s+(?:<[ @+%&~!]?[^<>\s]+>\s|-!- |\*\*\* |\* \S)"
        r"|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?\t[^\t\n]*\t",
        source="your client's folder of logs",
    ),
    "whatsapp": _export(
        "WhatsApp's export of a chat, text of Android or an iPhone",
        alone=("*WhatsApp*.txt", "_chat.txt"),
        opening=rf"{MARKS}(?:(?:{DATE}[,،]?\s{CLOCK}|{CLOCK},?\s{DATE}) [-–]\s"
        rf"|\[{MARKS}(?:(?!\d{{4}}-\d\d-\d\d ){DATE}[,،]?\s{CLOCK}|{CLOCK},?\s{DATE})\]\s)",
        source="faq.whatsapp.com (How to export your chat history)",
    ),
    "zendesk": _export(
        "Zendesk's tickets with comments; the requester is the user",
        marks=ANY_JSON,
        opening=rf'{JSON}(?:(?=.*"raw_subject":)'
        r'|(?=.*"requester(?:_id)?":)(?:(?=.*"(?:submitter|assignee|ticket_form)_id":)'
        r'|(?=.*"comments":)(?=.*"author_id":)(?=.*"public":\s*(?:true|false))))',
        source="support.zendesk.com (Exporting ticket, user, or organization data)",
    ),
    "freshdesk": _export(
        "Freshdesk's and Freshservice's tickets with conversations; what came in is the user's",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"requester_id":)(?=.*"(?:responder_id|fr_escalated|incoming)":)',
        source="developers.freshdesk.com/api (View a ticket, include=conversations)",
    ),
    "intercom": _export(
        "Intercom's conversations; contacts are the user",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"type":\s*"conversation(?:\.list)?")',
        source="developers.intercom.com (Conversations, Data export)",
    ),
    "amazon-connect": _export(
        "Amazon Connect's chats, and calls by Contact Lens; the customer is the user",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"(?:Participants|Transcript)":\s*\[\s*{{[^{{}}]*"ParticipantId":)',
        source="docs.aws.amazon.com/connect (Example Contact Lens output files)",
    ),
    "gong": _export(
        "Gong's transcripts of calls, as its API has them",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"callTranscripts":|.*"callId":.*"sentences":)',
        source="gong.io (API, retrieve transcripts of calls)",
    ),
    "rasa": _export(
        "Rasa's trackers, or the events of `rasa export`; a session a dialogue",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"sender_id":)(?=.*"(?:events|latest_message)":'
        r'|.*"event":\s*"(?:user|bot|action|slot|session_started|restart)")',
        source="rasa.com/docs",
    ),
    "rasa-nlu": _export(
        "Rasa's training examples, intents and entities in YAML",
        kind=UTTERANCES,
        marks=(("nlu.y*ml",), ("nlu/*.y*ml",)),
        opening=r"(?=.*^nlu:\s*?\n\s*- (?:intent|synonym|regex|lookup):)",
        source="rasa.com/docs",
    ),
    "rasa-stories": _export(
        "Rasa's stories with texts: test stories, or trained end to end",
        marks=(("test_stories.y*ml",), ("stories.y*ml",), ("*_stories.y*ml",)),
        opening=r"(?=.*^(?:stories|rules):\s*?\n\s*- (?:story|rule):)",
        source="rasa.com/docs",
    ),
    "langsmith": _export(
        "LangSmith's runs: the chat of each thread, or trace",
        marks=ANY_JSON,
        opening=rf'{JSON}(?=.*"run_type":)(?=.*"(?:start_time|trace_id|dotted_order)":)',
        source="docs.langchain.com/langsmith (run data format)",
        module="model_calls",
    ),
    "langfuse": _export(
        "Langfuse's generations or traces: the chat of each session, or trace",
        marks=ANY_JSON,
        opening=rf'{JSON}(?:(?=.*"trace_?[iI]d":)(?=.*"type":\s*"{LANGFUSE}")'
        r'|(?=.*"session_?[iI]d":)(?=.*"input":)(?=.*"release":)(?=.*"tags":))',
        source="langfuse.com/docs (Blob Storage Export Field Reference)",
        module="model_calls",
    ),
    "model-calls": _export(
        "requests to language models with their responses, as gateways log them",
        marks=ANY_JSON,
        opening=rf'{JSON}(?:(?=.*"request(?:_body)?":\s*"?\{{)(?=.*"messages\\?":)(?=.*"model\\?":)'
        r'|(?=.*"messages":\s*\[)(?=.*"response":\s*\{.*"(?:choices|candidates|content)":)'
        r'|(?=.*"input":\s*\[\s*\{[^{}]*"role":)(?=.*"output":\s*\[\s*\{))',
        source="platform.openai.com/docs (Chat Completions, Responses)",
    ),
}
CORPORA = {
    name: replace(corpus, target=f"{NATIVE}.{corpus.target or name.replace('-', '_')}")
    for name, corpus in _BY_NAME.items()
}
"""In the order in which they are tried; a module is called as its corpus is, or as stated."""
