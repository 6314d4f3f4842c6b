"""Small exports of chat logs, made by hand in the shape of the real ones: files by name."""

from __future__ import annotations

import json
from typing import Any

Files = dict[str, Any]


def message(id: str, parent: str | None, role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    """Return a node of ChatGPT's tree."""
    content = {"content_type": more.pop("content_type", "text"), "parts": list(parts)}
    told = {"id": id, "author": {"role": role}, "content": content, "create_time": 1.7e9, **more}
    return {"id": id, "message": told, "parent": parent, "children": []}


SIX = (
    "\ue203until\ue204 \ue200cite\ue202search0\ue201six【4†source】 【12:1†hours.pdf】 at"
    " \ue200url\ue202the shop\ue202search1\ue201"
    ' in \ue200entity\ue202["city","Rome","in Italy"]\ue201'
)
CHATGPT: Files = {
    "chat.html": "<html></html>",
    "conversations.json": [
        {
            "title": "Opening hours",
            "create_time": 1.7e9,
            "mapping": {
                "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
                "s": message(
                    "s", "root", "system", "", metadata={"is_visually_hidden_from_user": True}
                ),
                "u": message("u", "s", "user", "is it open?", {"content_type": "image"}),
                "old": message("old", "u", "assistant", "an answer that was regenerated"),
                "call": message("call", "u", "assistant", "search('x')", recipient="browser"),
                "tool": message("tool", "call", "tool", "9 to 6", content_type="text"),
                "think": message("think", "tool", "assistant", content_type="thoughts"),
                "a": message(
                    "a",
                    "think",
                    "assistant",
                    SIX,
                    recipient="all",
                ),
                "u2": message("u2", "a", "user", "thanks"),
            },
            "current_node": "u2",
            "conversation_id": "c-1",
        },
        {"title": "Empty", "create_time": 1.7e9, "mapping": {}, "current_node": None, "id": "c-2"},
    ],
}
FIRST = "00000000-0000-4000-8000-000000000000"
CLAUDE: Files = {
    "conversations.json": [
        {
            "uuid": "c-1",
            "name": "Opening hours",
            "created_at": "2024-01-01T10:00:00Z",
            "account": {"uuid": "k"},
            "chat_messages": [
                {"uuid": "m1", "sender": "human", "text": "is it open?", "content": []},
                {
                    "uuid": "m2",
                    "sender": "assistant",
                    "text": "until six\n```\nThis block is not supported\n```",
                    "content": [
                        {"type": "thinking", "thinking": "six?"},
                        {"type": "tool_use", "name": "search", "input": {}},
                        {"type": "text", "text": "until six"},
                    ],
                },
                {"uuid": "m3", "sender": "human", "text": "", "content": []},
            ],
        },
        {
            "uuid": "c-2",
            "name": "",
            "chat_messages": [
                {"uuid": "u", "sender": "human", "text": "hi", "parent_message_uuid": FIRST},
                {"uuid": "o", "sender": "assistant", "text": "old", "parent_message_uuid": "u"},
                {"uuid": "a", "sender": "assistant", "text": "hello", "parent_message_uuid": "u"},
            ],
        },
    ],
}
SLACK: Files = {
    "channels.json": [{"id": "C1", "name": "support"}],
    "users.json": [
        {"id": "U1", "name": "kim", "profile": {"display_name": "Kim", "real_name": "Kim Li"}},
        {"id": "U2", "name": "lee", "profile": {"display_name": "", "real_name": "Lee Ng"}},
    ],
    "support/2024-01-01.json": [
        {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1704100000.000100"},
        {
            "type": "message",
            "user": "U1",
            "text": "<@U2> the site &amp; <https://x.io|shop> are down",
            "ts": "1704100001.000100",
            "thread_ts": "1704100001.000100",
            "reply_count": 2,
        },
        {"type": "message", "user": "U1", "text": "morning all", "ts": "1704100002.000100"},
        {
            "type": "message",
            "subtype": "bot_message",
            "username": "deploys",
            "text": "deployed",
            "ts": "1704100003.000100",
        },
        {
            "type": "message",
            "bot_id": "B1",
            "user": "U9",
            "text": "<!here> a build failed",
            "ts": "1704100003.000200",
        },
        {"type": "message", "user": "U2", "text": "hi <!here>!", "ts": "1704100004.000100"},
        {
            "type": "message",
            "user": "U2",
            "text": "looking",
            "ts": "1704100005.000100",
            "thread_ts": "1704100001.000100",
        },
    ],
    "support/2024-01-02.json": [
        {
            "type": "message",
            "user": "U3",
            "user_profile": {"real_name": "Max"},
            "text": "fixed",
            "ts": "1704200000.000100",
            "thread_ts": "1704100001.000100",
        },
    ],
}
DISCORD: Files = {
    "Shop - help - general [987].json": {
        "guild": {"id": "1", "name": "Shop"},
        "channel": {"id": "987", "type": "GuildTextChat", "name": "general"},
        "messages": [
            {
                "id": "1",
                "type": "GuildMemberJoin",
                "timestamp": "2024-01-01T10:00:00+00:00",
                "content": "Joined the server.",
                "author": {"id": "5", "name": "kim", "nickname": "Kim", "isBot": False},
            },
            {
                "id": "2",
                "type": "Default",
                "timestamp": "2024-01-01T10:01:00+00:00",
                "content": "<@!7> <@&9> does it ship to Oslo? <a:wave:12> <#34>",
                "mentions": [{"id": "7", "name": "lee", "nickname": "Lee", "isBot": False}],
                "author": {"id": "5", "name": "kim", "nickname": "Kim", "isBot": False},
            },
            {
                "id": "3",
                "type": "Default",
                "timestamp": "2024-01-01T10:01:01+00:00",
                "content": "Level 2!",
                "author": {"id": "6", "name": "levels", "isBot": True},
            },
            {
                "id": "4",
                "type": "Reply",
                "timestamp": "2024-01-01T10:02:00+00:00",
                "content": "it does",
                "author": {"id": "7", "name": "lee", "isBot": False},
                "reference": {"messageId": "2"},
            },
        ],
        "messageCount": 4,
    }
}


def _messenger(*messages: dict[str, Any]) -> dict[str, Any]:
    """A file of a chat, whose texts are the bytes of their UTF-8, a letter each."""
    people = [{"name": "Zo\u00c3\u00ab"}, {"name": "Kim"}]
    about = {"title": "Zo\u00c3\u00ab Kim", "thread_path": "inbox/kim_1a"}
    return {"participants": people, "messages": [*messages], **about}


def _sent(by: int, at: int, **rest: Any) -> dict[str, Any]:
    return {"sender_name": ("Zo\u00c3\u00ab", "Kim")[by], "timestamp_ms": at, **rest}


MESSENGER: Files = {
    "messages/inbox/kim_1a/message_1.json": _messenger(
        _sent(1, 1704103600000, content="ok"),
        _sent(1, 1704103550000, content="Kim called you.", call_duration=0),
        _sent(1, 1704103540000, content="Reacted \u00e2\u009d\u00a4 to your message "),
        _sent(0, 1704103530000, content="Liked a message"),
        _sent(0, 1704103500250, content="10 \u00e2\u0082\u00ac"),
    ),
    "messages/inbox/kim_1a/message_2.json": _messenger(
        _sent(1, 1704100200000, content="see you \u00f0\u009f\u0098\u0080"),
        _sent(0, 1704100150000, photos=[{"uri": "photos/1.jpg"}]),
        _sent(0, 1704100100000, content="\u00c3\u00a7a va?"),
    ),
}


def encrypted(name: str) -> dict[str, Any]:
    """Return a chat of the download of Messenger's encrypted chats."""
    messages = [
        {"senderName": who, "text": text, "type": kind, "timestamp": 1711913758573, **rest}
        for who, text, kind, rest in (
            ("Zoë", "ça va?", "text", {"isUnsent": False, "media": [], "reactions": []}),
            ("Kim", "", "media", {"isUnsent": False, "media": [{"uri": "./media/1.jpeg"}]}),
            ("Zoë", "User unsent a message", "placeholder", {"isUnsent": True, "media": []}),
            ("Kim", "Ã© is how é looks", "text", {"isUnsent": False, "media": []}),
        )
    ]
    return {"participants": ["Zoë", "Kim"], "threadName": name, "messages": messages}


TELEGRAM: Files = {
    "result.json": {
        "name": "Kim",
        "type": "personal_chat",
        "id": 42,
        "messages": [
            {"id": 1, "type": "service", "date": "2024-01-01T10:00:00", "action": "phone_call"},
            {
                "id": 2,
                "type": "message",
                "date": "2024-01-01T10:01:00",
                "from": "Kim",
                "from_id": "user1",
                "text": ["see ", {"type": "link", "text": "x.io"}, " please"],
            },
            {
                "id": 3,
                "type": "message",
                "date": "2024-01-01T10:02:00",
                "from": "Lee",
                "from_id": "user2",
                "photo": "photos/1.jpg",
                "text": "",
            },
            {
                "id": 4,
                "type": "message",
                "date": "2024-01-01T10:03:00",
                "from": "Lee",
                "from_id": "user2",
                "text": "done",
            },
        ],
    }
}
WHATSAPP = {
    "android, day first": (
        "31/12/2024, 22:05 - Messages and calls are end-to-end encrypted. Tap to learn more.\n"
        "31/12/2024, 22:05 - Kim: see you at ten: ok?\nand bring\n\nthe tickets\n"
        "31/12/2024, 22:06 - Lee: <Media omitted>\n"
        '31/12/2024, 22:06 - Kim changed the subject to "Party: 2025"\n'
        "1/1/2025, 00:07 - Lee: happy new year <This message was edited>\n"
    ),
    "android, american": (
        "12/31/24, 10:05\u202fPM - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "1/1/25, 12:07\u202fAM - Lee: happy new year\n"
        "1/1/25, 12:07\u202fAM - Lee: This message was deleted\n"
    ),
    "android, german": (
        "31.12.24, 22:05 - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "31.12.24, 22:06 - Lee: <Medien ausgeschlossen>\n"
        "31.12.24, 22:06 - Lee: Diese Nachricht wurde gelöscht.\n"
        "01.01.25, 00:07 - Lee: happy new year <Diese Nachricht wurde bearbeitet.>\n"
    ),
    "android, chinese": (
        "2024/12/31 下午10:05 - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "2024/12/31 下午10:06 - Lee: \u200eIMG-20241231-WA0001.jpg (文件附件)\n"
        "2025/1/1 上午12:07 - Lee: happy new year\n"
    ),
    "android, bulgarian": (
        "31.12.24 г., 22:05 ч. - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "1.01.25 г., 0:07 ч. - Lee: \u200eIMG-20250101-WA0001.jpg (прикачен файл)\nhappy new year\n"
    ),
    "android, arabic": (
        "\u200f31\u200f/12\u200f/2024، 10:05 م - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "\u200f1/1/2025، 12:07 ص - Lee: happy new year\n"
    ),
    "iphone, arabic": (
        "[\u200f31/12/2024، 10:05:00 م] Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "\u200f[1\u200f/1\u200f/2025، 12:07:00 ص] Lee: happy new year\n"
    ),
    "android, hindi": (
        "31/12/24, 10:05 अपराह्न - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "1/1/25, 12:07 पूर्वाह्न - Lee: happy new year\n"
    ),
    "android, turkish": (
        "31.12.2024 ÖS 10:05 - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "1.01.2025 ÖÖ 12:07 - Lee: happy new year\n"
    ),
    "android, thai": (
        "31/12/67 22:05 น. - Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "1/1/2568 00:07 น. - Lee: happy new year\n"
    ),
    "iphone, vietnamese": (
        "[10:05:00 CH, 31/12/2024] Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "[12:07:00 SA, 01/01/2025] Lee: happy new year\n"
    ),
    "iphone, korean": (
        "[24. 12. 31. 오후 10:05:00] Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "[25. 1. 1. 오전 12:07:00] Lee: happy new year\n"
    ),
    "iphone, finnish": (
        "[31.12.2024 klo 22.05.00] Kim: see you at ten: ok?\nand bring\nthe tickets\n"
        "[1.1.2025 klo 0.07.00] Lee: happy new year \u200e<liite: 0001-PHOTO.jpg>\n"
    ),
    "iphone, dutch": (
        "[31-12-2024 22:05:00] Kim: see you at ten: ok?\r\nand bring\r\nthe tickets\r\n"
        "[01-01-2025 00:07:00] Lee: happy new year\r\n"
    ),
    "iphone": (
        "\u200e[31/12/2024, 22:05:00] Kim: \u200eMessages and calls are end-to-end encrypted.\n"
        "[31/12/2024, 22:05:00] Kim: see you at ten: ok?\r\nand bring\r\nthe tickets\r\n"
        "\u200e[31/12/2024, 22:06:00] Lee: \u200eimage omitted\n"
        "[01/01/2025, 00:07:00] ~\u202fLee: happy new year\n"
    ),
}
SUBTITLES = {
    "teams": (
        "\ufeffWEBVTT\r\n\r\nNOTE made by hand\r\n\r\n0f-1\r\n00:00:01.500 --> 00:00:03.000\r\n"
        "<v Kim Ng>is it <b>open</b>\r\nnow?</v>\r\n\r\n"
        "00:00:04.000 --> 00:00:05.000 align:start\r\n<v Lee>until six</v>\r\n"
    ),
    "two in a cue": (
        "WEBVTT\n\n00:01.500 --> 00:03.000\n<v Kim Ng>is it open now?</v>\n<v Lee>until six</v>\n"
    ),
    "zoom": (
        "WEBVTT\n\n1\n00:00:01.500 --> 00:00:03.000\nKim Ng: is it open now?\n\n"
        "2\n00:00:04.000 --> 00:00:05.000\nLee: until six\n\n"
        "3\n00:00:06.000 --> 00:00:07.000\nKim Ng:\n"
    ),
}
SRT = (
    "1\n00:00:01,500 --> 00:00:03,000\n<i>is it open</i>\nnow?\n\n"
    "2\n00:00:04,000 --> 00:00:05,000\n{\\an8}- until six\n-Note: thanks\n-5 --\n"
)


def rolling(lines: list[str]) -> str:
    """Return captions as YouTube makes them: a line is seen word by word, then alone, then above.

    Above the first stands a blank, for a line that is no more.
    """
    cues = [
        f"00:{n:02}.000 --> 00:{n:02}.990 align:start position:0%\n{above}\n"
        f"{line.replace(' ', f'<00:{n:02}.500><c> ', 1)}</c>\n\n"
        f"00:{n:02}.990 --> 00:{n + 1:02}.000 align:start position:0%\n{line}\n \n\n"
        for n, (above, line) in enumerate(zip([" ", *lines], lines, strict=False))
    ]
    return f"WEBVTT\nKind: captions\nLanguage: en\n\n{''.join(cues)}"


def teams(id: str, thread: str | None, who: str | None, text: str, **more: Any) -> dict[str, Any]:
    """Return a message as Graph's API has it."""
    sender = {"user": {"id": f"u-{who}", "displayName": who}, "application": None}
    return {
        "id": id,
        "replyToId": thread,
        "messageType": "message",
        "createdDateTime": f"2024-01-01T10:00:0{id}Z",
        "chatId": None,
        "from": sender if who else {"user": None, "application": {"id": "b"}},
        "body": {"contentType": "html", "content": text},
        **more,
    }


LATER = "2024-01-01T10:00:07{}Z"
TEAMS: Files = {
    "messages.json": {
        "@odata.context": "https://graph.microsoft.com/v1.0/$metadata",
        "value": [
            teams("5", None, "Kim", "<p>hello?</p>"),
            teams("3", "1", "Kim", "thanks", body={"contentType": "text", "content": "a <b"}),
            teams("2", "1", "Lee", "<p>until <b>six</b></p><p>today</p>"),
            teams(
                "1",
                None,
                "Kim",
                "<div>is it open?</div>",
                replies=[teams("7", "1", "Lee", "<p>so?</p>", createdDateTime=LATER.format(".51"))],
            ),
            teams("8", "1", "Kim", "<p>and?</p>", createdDateTime=LATER.format(".5")),
            teams("4", "1", None, "<p>a bot</p>"),
            teams("6", "1", "Kim", "", messageType="systemEventMessage"),
        ],
    }
}
TEAMS_PERSONAL: Files = {
    "userId": "8:kim",
    "exportDate": "2024-01-02T10:00",
    "conversations": [
        {
            "id": "19:x",
            "displayName": "Lee",
            "MessageList": [
                {
                    "id": f"{second}",
                    "originalarrivaltime": f"2024-01-01T10:00:0{second}Z",
                    "messagetype": kind,
                    "content": text,
                    "from": "28:beep" if who == "bot" else f"8:{who}",
                }
                for second, kind, who, text in (
                    (3, "Event/Call", "kim", "<partlist/>"),
                    (2, "RichText", "lee", "until &lt; <b>six</b>"),
                    (1, "Text", "kim", "is a<b open?"),
                    (4, "Text", "bot", "beep"),
                )
            ],
        },
        {"id": "48:notes", "displayName": None, "MessageList": None},
    ],
}
IRC = {
    "energymech": (
        "#help.20240101.log",
        "[10:00:01] *** Joins: kim (kim@x)\n[10:00:02] <kim> hello\n"
        "[10:00:03] * kim waves\n[10:00:04] <lee> \x0304hi\x03 kim\n",
    ),
    "irssi": (
        "#help.log",
        "--- Log opened Mon Jan 01 10:00:00 2024\n10:00 -!- kim [k@x] has joined #help\n"
        "10:00 <@kim> hello\n10:00  * kim waves\n10:00 < lee> hi kim\n"
        "--- Log closed Mon Jan 01 11:00:00 2024\n",
    ),
    "hexchat": (
        "help.log",
        "**** BEGIN LOGGING AT Mon Jan  1 10:00:00 2024\n\nJan 01 10:00:00 *\tkim has joined\n"
        "Jan 01 10:00:00 <kim>\thello\nJan 01 10:00:00 *\tkim waves\n"
        "Jan 01 10:00:00 <lee>\thi kim\n",
    ),
    "the lounge": (
        "#help.log",
        "[2024-01-01T10:00:00.123Z] *** kim (k@x) joined\n"
        "[2024-01-01T10:00:00.123Z] <kim> hello\n[2024-01-01T10:00:00.123Z] <lee> hi kim\n",
    ),
    "weechat": (
        "irc.net.#help.weechatlog",
        "2024-01-01 10:00:00\t-->\tkim (k@x) has joined\n2024-01-01 10:00:00\t@kim\thello\n"
        "2024-01-01 10:00:00\t *\tkim waves\n2024-01-01 10:00:00\tlee\thi kim\n",
    ),
}
TICKET = {
    "url": "https://x.zendesk.com/api/v2/tickets/7.json",
    "id": 7,
    "subject": "Broken",
    "description": "It does not start.",
    "requester_id": 100,
    "submitter_id": 100,
    "assignee_id": 5,
    "created_at": "2024-01-01T10:00:00Z",
    "comments": [
        {"id": 1, "author_id": 100, "plain_body": "It does&nbsp;not start.", "public": True},
        {"id": 2, "author_id": 5, "body": "Probably a cable.", "public": False},
        {"id": 3, "author_id": 5, "html_body": "<p>Is it plugged<br>in?</p>", "public": True},
    ],
}
ZENDESK: Files = {"tickets.json": {"tickets": [TICKET, {**TICKET, "id": 8, "comments": []}]}}
FRESHDESK: Files = {
    "tickets.json": [
        {
            "cc_emails": [],
            "fr_escalated": False,
            "requester_id": 100,
            "responder_id": None,
            "id": 7,
            "subject": "Broken",
            "description": "<div>It does<br>not start.</div>",
            "description_text": "It does not start.",
            "created_at": "2024-01-01T10:00:00Z",
            "conversations": [
                {"body": "<div>A cable?</div>", "incoming": False, "private": True},
                {"body": "<div>Is it plugged in?</div>", "incoming": False, "private": False},
                {"body_text": "No & yes", "incoming": True, "created_at": "2024-01-01T10:09:00Z"},
            ],
        }
    ]
}


def said_at(number: int, who: str, **facts: Any) -> dict[str, Any]:
    """Return an item of a chat's transcript as Amazon Connect keeps it."""
    time = f"2024-01-01T10:00:0{number}.000Z"
    usual = {"Type": "MESSAGE", "ContentType": "text/plain"}
    return {"AbsoluteTime": time, "Id": f"m-{number}", "ParticipantId": who, **usual, **facts}


AMAZON_CONNECT: Files = {
    "contacts.json": [
        {
            "Version": "2019-08-26",
            "InstanceId": "i",
            "ContactId": "c-1",
            "Participants": [{"ParticipantId": "a"}, {"ParticipantId": "b"}],
            "Transcript": [
                said_at(0, "a", Type="EVENT", Content=None, ContentType="application/x.joined"),
                said_at(1, "a", ParticipantRole="CUSTOMER", Content="is it open?"),
                said_at(2, "s", ParticipantRole="SYSTEM", Content="an agent will be with you"),
                said_at(3, "b", ParticipantRole="AGENT", Content="*until* six")
                | {"ContentType": "text/markdown"},
                said_at(4, "a", ParticipantRole="CUSTOMER", Content='{"templateType": "x"}')
                | {"ContentType": "application/vnd.amazonaws.connect.message.interactive"},
            ],
        },
        {
            "JobStatus": "COMPLETED",
            "Channel": "CHAT",
            "CustomerMetadata": {"ContactId": "c-2"},
            "Participants": [
                {"ParticipantId": "a", "ParticipantRole": "CUSTOMER"},
                {"ParticipantId": "b", "ParticipantRole": "AGENT"},
            ],
            "Transcript": [said_at(1, "b", Content="hello"), said_at(2, "a", Content="thanks")],
        },
        {
            "Channel": "VOICE",
            "CustomerMetadata": {"ContactId": "c-3"},
            "Participants": [{"ParticipantId": "AGENT"}, {"ParticipantId": "CUSTOMER"}],
            "Transcript": [
                {"BeginOffsetMillis": 500, "Id": "1", "ParticipantId": "AGENT", "Content": "hello"},
                {
                    "BeginOffsetMillis": 1500,
                    "Id": "2",
                    "ParticipantId": "CUSTOMER",
                    "Content": "hi",
                },
            ],
        },
    ]
}

INTERCOM: Files = {
    "conversations.json": {
        "type": "conversation.list",
        "conversations": [
            {
                "type": "conversation",
                "id": "9",
                "created_at": 1704100000,
                "source": {
                    "type": "conversation",
                    "body": "<p>Hi &amp; hello,</p><p>is it open?</p>",
                    "author": {"type": "user", "id": "a", "name": "Kim"},
                },
                "conversation_parts": {
                    "type": "conversation_part.list",
                    "conversation_parts": [
                        {
                            "part_type": "assignment",
                            "body": None,
                            "author": {"type": "bot", "id": "b"},
                        },
                        {
                            "part_type": "note",
                            "body": "<p>a regular</p>",
                            "author": {"type": "admin", "id": "c"},
                        },
                        {
                            "part_type": "close",
                            "body": "<p>It is.</p>",
                            "created_at": 1704100060,
                            "author": {"type": "admin", "id": "c", "name": "Lee"},
                        },
                        {"part_type": "comment", "body": "thx", "author": None},
                    ],
                },
            }
        ],
    }
}
EVENTS = [
    {"event": "action", "name": "action_session_start", "timestamp": 1704100000.0},
    {"event": "session_started", "timestamp": 1704100000.1},
    {
        "event": "user",
        "text": "fly to Rome",
        "timestamp": 1704100001.0,
        "parse_data": {
            "intent": {"name": "fly"},
            "entities": [
                {"entity": "city", "start": 7, "end": 11, "value": "Rome"},
                {"entity": "known", "value": True},
            ],
        },
    },
    {"event": "slot", "name": "city", "value": "Rome", "timestamp": 1704100001.1},
    {"event": "bot", "text": "when?", "data": {}, "timestamp": 1704100002.0},
    {"event": "user", "text": "/affirm", "timestamp": 1704100003.0},
    {"event": "session_started", "timestamp": 1704200000.0},
    {"event": "user", "text": "hello again", "timestamp": 1704200001.0},
]
RASA: Files = {"tracker.json": {"sender_id": "kim", "slots": {}, "events": EVENTS}}


def run(trace: str, thread: str | None, given: list[Any], **facts: Any) -> dict[str, Any]:
    """Return a call of a model as LangSmith keeps it."""
    metadata = {"ls_model_type": "chat", **({"thread_id": thread} if thread else {})}
    told = {"id": f"{trace}-1", "name": "ChatModel", "start_time": "2024-01-01T10:00:00"}
    return {
        **told,
        "run_type": facts.pop("run_type", "llm"),
        "extra": {"metadata": metadata},
        "inputs": {"messages": given},
        "trace_id": trace,
        **facts,
    }


def lc(kind: str, content: Any) -> dict[str, Any]:
    """Return a message as LangChain serialises it."""
    return {"lc": 1, "type": "constructor", "id": ["x", kind], "kwargs": {"content": content}}


ASKED = [lc("SystemMessage", "be kind"), lc("HumanMessage", "is it open?")]
ANSWER = lc("AIMessage", "until six")
SYSTEM = [{"role": "system", "content": "be kind"}]
CHOICES = [{"index": 0, "message": {"role": "assistant", "content": "welcome"}}]
PARTS = [{"text": "hm", "thought": True}, {"text": "me"}]
LANGSMITH: Files = {
    "runs.json": [
        run("t-1", "kim", [ASKED], outputs={"generations": [[{"message": ANSWER}]]}),
        run(
            "t-2",
            "kim",
            [[*ASKED, ANSWER, lc("ToolMessage", "9-18"), lc("HumanMessage", "thanks")]],
            outputs={"generations": [[{"text": "welcome"}]]},
        ),
        run("t-2", "kim", [["x"] * 9], run_type="chain", outputs=None),
        run(
            "t-3",
            None,
            [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
            outputs={"choices": [{"message": {"role": "assistant", "content": "hi"}}]},
        ),
        run("t-4", None, [{"role": "user", "content": "anyone?"}], outputs=None, error="busy"),
        run("t-5", None, [], outputs=None),
    ]
}


def chatml(*texts: str) -> list[dict[str, str]]:
    """Return messages of a user and an assistant in turn."""
    return [{"role": ("user", "assistant")[i % 2], "content": t} for i, t in enumerate(texts)]


def seen(trace: str, session: str | None, given: Any, answer: Any, **facts: Any) -> dict[str, Any]:
    """Return a step of a program as Langfuse's API gives it."""
    told = {"id": f"{trace}-1", "traceId": trace, "sessionId": session, "type": "GENERATION"}
    return {**told, "startTime": "2024-01-01T10:00:00Z", "input": given, "output": answer, **facts}


BOTH = ("is it open?", "until six", "thanks")
LANGFUSE: Files = {
    "observations.json": {
        "data": [
            seen("t-1", "kim", None, None, type="SPAN"),
            seen("t-1", "kim", [*SYSTEM, *chatml(*BOTH[:1])], chatml(*BOTH)[1]),
            seen("t-2", "kim", {"messages": [*SYSTEM, *chatml(*BOTH)]}, {"choices": CHOICES}),
            seen("t-2", "kim", chatml("name this chat"), "hours", type="TOOL"),
            seen("t-2", "kim", chatml("name this chat"), "hours"),
            seen("t-3", None, "hello", {"answer": "hi"}, startTime="2024-01-02T10:00:00Z"),
            seen("t-7", None, chatml("and"), "what?"),
            seen("t-8", None, chatml("and", "what?", "now"), "no"),
            seen("t-6", "lee", '{"question":"and later?"}', "no", startTime="2024-01-04T10:00:00Z"),
            seen("t-5", "lee", '[{"role":"user","content":"open today?"}]', '{"content":"yes"}'),
        ],
        "meta": {"page": 1},
    }
}
CALLS: Files = {
    "gateway.jsonl": "".join(
        f"{json.dumps(call)}\n"
        for call in (
            {"id": "a", "request": {"model": "m", "messages": chatml("hello")}, "response": None},
            {"id": "b", "request": {"messages": chatml(*BOTH[:1])}, "response": chatml(*BOTH)[1]},
            {
                "id": "c",
                "request": {"messages": chatml(*BOTH)},
                "response": {"role": "assistant", "content": [{"type": "text", "text": "welcome"}]},
            },
            {"id": "d", "messages": chatml("a", "b", "c"), "response": {"choices": CHOICES}},
            {"id": "f", "input": "why?", "output": [{"type": "reasoning"}, *chatml("", "so")[1:]]},
            {
                "id": "g",
                "request_body": json.dumps({"contents": [{"role": "user", "parts": ["who?"]}]}),
                "response_body": {"candidates": [{"content": {"role": "model", "parts": PARTS}}]},
            },
        )
    )
}

SENTENCES = [{"start": 1500, "end": 1900, "text": "is it"}, {"start": 1900, "text": "open?"}]
GONG: Files = {
    "transcripts.json": {
        "requestId": "x",
        "callTranscripts": [
            {
                "callId": "7",
                "transcript": [
                    {"speakerId": "1", "topic": None, "sentences": SENTENCES},
                    {"speakerId": "2", "sentences": [{"start": 3000, "text": "until six"}]},
                ],
            }
        ],
    }
}
TRANSCRIPT = {
    "otter": "Call of Monday\n\nKim Lee  0:03\nis it\nopen?\n\nMax  1:00:10\nuntil six\n",
    "rev": "Kim Lee (00:03):\nis it open?\n\nMax (01:00:10):\nuntil six\n",
    "windows": "Kim Lee\t0:03\r\nis it open?\r\nMax\t1:00:10\r\nuntil six\r\n",
    "gong": "0:03 | Kim Lee\nis it open?\n\n60:10 | Max\nuntil six\n",
}
