#!/usr/bin/env python3
"""Make the example corpus: varied task-oriented dialogues with intents and slots, seeded.

    python examples/generate.py        writes dialogues.jsonl.gz, heldout.jsonl.gz and
    intents.jsonl.gz beside itself

Each intent has ways to ask (written here, combined from parts), slots with real-looking values,
questions the system asks back, and ways to answer. Short replies ("thanks", "okay") are
over-represented, as in real corpora.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path

VALUES = {
    "city": [
        "Leeds",
        "Boston",
        "Lyon",
        "Austin",
        "Porto",
        "Dublin",
        "Denver",
        "Bergen",
        "Seattle",
        "Geneva",
        "Krakow",
        "Nagoya",
        "Bristol",
        "Tampa",
        "Malaga",
        "Utrecht",
    ],
    "place": [
        "Old Harbour",
        "Central Station",
        "Market Square",
        "the airport",
        "North Park",
        "the museum",
        "Hill Street",
        "the stadium",
        "Riverside",
    ],
    "restaurant": [
        "Blue Lantern",
        "Casa Verde",
        "The Copper Pot",
        "Saffron House",
        "Nonna Pia",
        "Golden Wok",
        "The Oyster Bar",
        "Little Athens",
    ],
    "cuisine": [
        "italian",
        "thai",
        "indian",
        "mexican",
        "japanese",
        "greek",
        "vegan",
        "lebanese",
        "korean",
        "french",
    ],
    "hotel": [
        "Grand Palace",
        "Maple Lodge",
        "Seaview Inn",
        "The Belmont",
        "Hotel Aurora",
        "Cedar House",
        "Station Hotel",
    ],
    "day": [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "tomorrow",
        "the 14th",
        "march 3rd",
        "next weekend",
    ],
    "time": [
        "7 pm",
        "8:30",
        "noon",
        "6:15 pm",
        "9 in the morning",
        "half past five",
        "10:45",
        "3 pm",
        "quarter to two",
    ],
    "people": ["two", "three", "four", "five", "six", "8", "just me", "a party of 10"],
    "name": [
        "Alice Moreau",
        "Tom Becker",
        "Priya Nair",
        "Jonas Lind",
        "Maria Costa",
        "Ken Ito",
        "Fatima Zahra",
        "Owen Clarke",
    ],
    "order": ["A4471", "B2093", "C88120", "71-2205", "K9034", "P5561", "Z1187"],
    "item": [
        "running shoes",
        "coffee grinder",
        "winter jacket",
        "desk lamp",
        "headphones",
        "yoga mat",
        "backpack",
        "kettle",
    ],
    "amount": ["$40", "$125.50", "$19.99", "$310", "$75", "$8.20", "$1,200", "$56"],
    "account": ["checking", "savings", "joint", "business"],
    "card": ["debit card", "credit card", "visa", "mastercard"],
    "plan": ["unlimited plan", "family plan", "5 gig plan", "prepaid plan", "basic plan"],
    "device": ["router", "modem", "phone", "tablet", "laptop"],
    "song": [
        "Night Train",
        "Golden Hour",
        "Paper Moon",
        "Ocean Drive",
        "Midnight Sun",
        "Wild Roses",
    ],
    "artist": ["The Larks", "Nina Vale", "Stone Harbor", "DJ Marlow", "Elena Cruz", "Low Tide"],
    "event": [
        "dentist appointment",
        "team meeting",
        "yoga class",
        "lunch with Sam",
        "piano lesson",
        "parent evening",
    ],
    "doctor": ["Dr. Patel", "Dr. Weber", "Dr. Okafor", "Dr. Lindqvist"],
    "symptom": ["a sore throat", "back pain", "a rash", "headaches", "a fever", "a twisted ankle"],
}

# domain -> intent -> (ways to ask, what the system asks back, how it closes). {slot} is filled and
# marked.
DOMAINS = {
    "restaurant": {
        "find_restaurant": (
            [
                "i am looking for {cuisine} food in {city}",
                "any good {cuisine} places around {city}",
                "where can i eat {cuisine} in {city}",
                "i fancy {cuisine} tonight, somewhere in {city}",
                "recommend a {cuisine} restaurant near {city}",
            ],
            ["do you have a price range in mind?", "would you like outdoor seating?"],
            [
                "{restaurant} in {city} serves {cuisine} food and is well rated.",
                "how about {restaurant}? it is the best {cuisine} kitchen in {city}.",
            ],
        ),
        "book_table": (
            [
                "book a table for {people} at {restaurant}",
                "i need a reservation at {restaurant} on {day}",
                "can you get us seats at {restaurant} for {time}",
                "reserve dinner for {people} at {restaurant} please",
                "we want to eat at {restaurant} on {day}, {people} of us",
            ],
            ["what time should i book the table for?", "how many guests will dine?"],
            [
                "your table at {restaurant} is booked for {people}.",
                "done, {restaurant} expects you on {day} at {time}.",
            ],
        ),
        "restaurant_menu": (
            [
                "what is on the menu at {restaurant}",
                "does {restaurant} have vegetarian dishes",
                "which dishes does {restaurant} serve",
                "can i see what {restaurant} cooks",
            ],
            ["do you want the lunch or the dinner menu?"],
            [
                "{restaurant} offers soups, grills and three vegetarian mains.",
                "the kitchen of {restaurant} changes its menu every week, today it has risotto.",
            ],
        ),
    },
    "hotel": {
        "find_hotel": (
            [
                "i need a place to stay in {city}",
                "find me a hotel in {city} for {day}",
                "where could i sleep in {city}",
                "looking for a room in {city}, cheap if possible",
                "any decent accommodation around {city}",
            ],
            ["should breakfast be included?", "how many nights will you stay?"],
            [
                "{hotel} in {city} has free rooms with breakfast.",
                "i would suggest {hotel}, close to the centre of {city}.",
            ],
        ),
        "book_room": (
            [
                "book a double room at {hotel} from {day}",
                "reserve a room at {hotel} for {people}",
                "i want to stay at {hotel} starting {day}",
                "get me a suite at {hotel} please",
            ],
            ["for how many nights do you need the room?", "a single or a double bed?"],
            [
                "your room at {hotel} is reserved from {day}.",
                "{hotel} confirmed your stay, arrival on {day}.",
            ],
        ),
        "cancel_room": (
            [
                "cancel my room at {hotel}",
                "i will not need the reservation at {hotel} any more",
                "please call off my stay at {hotel}",
                "drop my booking with {hotel}",
            ],
            ["under which name is the room booked?"],
            [
                "your stay at {hotel} is cancelled without a fee.",
                "the reservation at {hotel} has been removed.",
            ],
        ),
    },
    "train": {
        "find_train": (
            [
                "when does the train to {city} leave on {day}",
                "i need a train to {city}",
                "are there trains going to {city} after {time}",
                "how do i get to {city} by rail",
                "next departure for {city} please",
            ],
            ["from which station will you depart?", "do you want to arrive by a certain time?"],
            [
                "a train to {city} leaves at {time} from platform 4.",
                "there is a direct service to {city} at {time}.",
            ],
        ),
        "buy_ticket": (
            [
                "buy two tickets to {city} for {day}",
                "i would like a first class seat to {city}",
                "get me a return fare to {city}",
                "purchase a rail ticket to {city} leaving at {time}",
            ],
            ["one way or return?", "do you hold a railcard?"],
            [
                "your ticket to {city} costs {amount}, i have sent it by email.",
                "the fare to {city} is {amount}, paid and reserved.",
            ],
        ),
        "train_delay": (
            [
                "is the train to {city} late",
                "why is the {time} to {city} not here yet",
                "how long is the delay on the {city} line",
                "has my train to {city} been held up",
            ],
            ["which departure do you mean?"],
            [
                "the {city} train is running 20 minutes behind schedule.",
                "there is a signal failure, expect the {city} service at {time}.",
            ],
        ),
    },
    "taxi": {
        "book_taxi": (
            [
                "i need a taxi from {place} to {place}",
                "send a cab to {place} at {time}",
                "can someone pick me up at {place}",
                "order a car to {place} for {time}",
                "get me a ride to {place}",
            ],
            ["when should the driver come?", "how many passengers?"],
            [
                "a grey sedan will be at {place} at {time}.",
                "your driver {name} is on the way to {place}.",
            ],
        ),
        "taxi_price": (
            [
                "how much is a cab to {place}",
                "what would a ride to {place} cost",
                "is it expensive to go to {place} by taxi",
                "give me a fare estimate to {place}",
            ],
            ["where would you start?"],
            [
                "a ride to {place} is about {amount}.",
                "expect to pay {amount} to {place}, more at night.",
            ],
        ),
    },
    "banking": {
        "check_balance": (
            [
                "how much money is in my {account} account",
                "what is my {account} balance",
                "do i have anything left in {account}",
                "tell me what is on my {account} account",
            ],
            ["can you confirm your date of birth?"],
            ["your {account} account holds {amount}.", "there is {amount} in {account} right now."],
        ),
        "transfer": (
            [
                "send {amount} to {name}",
                "move {amount} from {account} to savings",
                "wire {amount} to {name} please",
                "i want to pay {name} {amount}",
            ],
            ["from which account should i take it?", "is this a one-time payment?"],
            [
                "{amount} is on its way to {name}.",
                "the transfer of {amount} to {name} went through.",
            ],
        ),
        "lost_card": (
            [
                "i lost my {card}",
                "someone stole my {card}",
                "my {card} is gone, block it",
                "cannot find my {card} anywhere",
                "freeze my {card} right now",
            ],
            ["when did you last use it?", "are there payments you do not recognise?"],
            [
                "your {card} is blocked, a new one arrives in five days.",
                "i have frozen the {card} and ordered a replacement.",
            ],
        ),
        "dispute_charge": (
            [
                "there is a charge of {amount} that i did not make",
                "i want to contest {amount} on my {card}",
                "who took {amount} from my account",
                "this {amount} payment is fraud",
            ],
            ["on which date was it booked?"],
            [
                "i opened a claim for the {amount} charge.",
                "we will refund {amount} while we investigate.",
            ],
        ),
    },
    "telecom": {
        "internet_down": (
            [
                "my internet is not working",
                "the {device} has no connection since {time}",
                "wifi is dead at home",
                "i cannot get online with my {device}",
                "pages will not load on the {device}",
            ],
            ["is the light on the {device} red or green?", "have you restarted the {device}?"],
            [
                "please unplug the {device} for thirty seconds, then it should reconnect.",
                "there is an outage in your area, it should be fixed by {time}.",
            ],
        ),
        "change_plan": (
            [
                "i want to switch to the {plan}",
                "can i upgrade to the {plan}",
                "move me over to the {plan}",
                "is the {plan} available for me",
            ],
            ["should the change start today or with the next bill?"],
            [
                "you are on the {plan} from {day}.",
                "the {plan} costs {amount} a month and starts {day}.",
            ],
        ),
        "bill_question": (
            [
                "why is my bill {amount} this month",
                "my invoice went up to {amount}",
                "explain the {amount} on my phone bill",
                "i was billed {amount}, that is too much",
            ],
            ["do you mean the bill from {day}?"],
            [
                "the {amount} includes roaming from your trip.",
                "you were charged {amount} because the discount ended.",
            ],
        ),
        "roaming": (
            [
                "will my phone work in {city}",
                "what does data cost abroad",
                "turn on roaming for my trip to {city}",
                "can i call from {city} with the {plan}",
            ],
            ["how long will you be abroad?"],
            [
                "roaming is on, data in {city} costs {amount} a day.",
                "your {plan} includes calls from {city}.",
            ],
        ),
    },
    "shopping": {
        "track_order": (
            [
                "where is my order {order}",
                "has {order} shipped yet",
                "when will the {item} arrive",
                "track package {order}",
                "my {item} should have been here by now",
            ],
            ["which email did you order with?"],
            [
                "order {order} is out for delivery on {day}.",
                "the {item} left our warehouse, expect it {day}.",
            ],
        ),
        "return_item": (
            [
                "i want to send back the {item}",
                "the {item} does not fit, can i return it",
                "how do i return order {order}",
                "the {item} arrived broken",
            ],
            ["would you like a refund or an exchange?", "is the {item} still in its box?"],
            [
                "here is a label for the {item}, the refund of {amount} follows.",
                "we will collect the {item} on {day}.",
            ],
        ),
        "product_stock": (
            [
                "do you have the {item} in stock",
                "is the {item} available in blue",
                "when will the {item} be back",
                "any {item} left in size medium",
            ],
            ["which colour would you like?"],
            ["we have six of the {item} left.", "the {item} will be back on {day}."],
        ),
        "change_address": (
            [
                "ship order {order} to another address",
                "i moved, update my delivery address",
                "send {order} to my office instead",
                "the street on my order {order} is wrong",
            ],
            ["what is the new address?"],
            [
                "order {order} now goes to your new address.",
                "i updated the destination of {order}.",
            ],
        ),
    },
    "calendar": {
        "add_event": (
            [
                "put a {event} on {day} at {time}",
                "schedule my {event} for {day}",
                "add {event} to my calendar",
                "i have a {event} on {day}, write it down",
            ],
            ["how long will it last?", "should i remind you before?"],
            ["{event} is in your calendar on {day} at {time}.", "i added the {event} for {day}."],
        ),
        "move_event": (
            [
                "move my {event} to {day}",
                "can we push the {event} to {time}",
                "reschedule {event}, {time} is better",
                "my {event} has to be later",
            ],
            ["does {time} suit everyone?"],
            ["your {event} is now on {day} at {time}.", "i shifted the {event} to {time}."],
        ),
        "ask_agenda": (
            [
                "what do i have on {day}",
                "am i free at {time} on {day}",
                "show me my plans for {day}",
                "is there anything in my diary for {day}",
            ],
            ["do you want work entries too?"],
            ["on {day} you have a {event} at {time}.", "nothing but a {event} on {day}."],
        ),
    },
    "weather": {
        "forecast": (
            [
                "what will the weather be like in {city} on {day}",
                "is it going to rain in {city}",
                "do i need an umbrella in {city} on {day}",
                "how warm does it get in {city}",
                "forecast for {city} please",
            ],
            ["for the morning or the whole day?"],
            [
                "{city} expects showers on {day}, 14 degrees.",
                "it stays sunny and dry in {city} on {day}.",
            ],
        ),
        "storm_warning": (
            [
                "is there a storm coming to {city}",
                "any weather alerts for {city}",
                "should i worry about wind in {city}",
                "how bad will the snow be in {city}",
            ],
            ["do you want alerts for the region too?"],
            [
                "there is a yellow warning for {city} until {time}.",
                "no alerts for {city}, only a light breeze.",
            ],
        ),
    },
    "music": {
        "play_song": (
            [
                "play {song} by {artist}",
                "put on {song}",
                "i want to hear {artist}",
                "start some {artist} in the kitchen",
                "can you play {song} again",
            ],
            ["on which speaker?"],
            ["now playing {song} by {artist}.", "here comes {song}."],
        ),
        "make_playlist": (
            [
                "make a playlist with {artist}",
                "add {song} to my running list",
                "save {song} in my favourites",
                "collect songs like {song} for me",
            ],
            ["what should the list be called?"],
            ["{song} is in your list.", "i made a list with {artist} and similar bands."],
        ),
    },
    "health": {
        "book_doctor": (
            [
                "i need to see {doctor} on {day}",
                "make an appointment with {doctor}",
                "can {doctor} see me about {symptom}",
                "is {doctor} free at {time}",
            ],
            ["is this your first visit?", "what is it about?"],
            [
                "{doctor} can see you on {day} at {time}.",
                "you are booked with {doctor}, {time} on {day}.",
            ],
        ),
        "symptom_advice": (
            [
                "i have {symptom} since {day}",
                "what should i do about {symptom}",
                "is {symptom} something serious",
                "my daughter woke up with {symptom}",
            ],
            ["how long have you had it?", "do you take any medicine?"],
            [
                "for {symptom} rest and drink plenty, call us if it lasts.",
                "with {symptom} it is best to see {doctor}.",
            ],
        ),
    },
}

OPENERS = [
    "",
    "",
    "",
    "hi, ",
    "hello, ",
    "good morning, ",
    "hey, ",
    "excuse me, ",
    "quick question: ",
    "hi there, ",
]
TAILS = ["", "", "", "", " please", ", can you help", ", thanks", " if possible", ", it is urgent"]
ACKS = [
    "okay",
    "sure",
    "yes",
    "yes please",
    "sounds good",
    "that works",
    "perfect",
    "great",
    "no problem",
]
HOLDS = [
    "let me check that for you.",
    "one moment please.",
    "sure, i can help with that.",
    "of course.",
    "give me a second.",
]
THANKS = [
    "thanks",
    "thanks",
    "thank you",
    "thank you so much",
    "great, thanks",
    "thanks a lot",
    "perfect, thank you",
]
MORE = [
    "anything else?",
    "anything else?",
    "is there anything else i can do for you?",
    "can i help with anything else?",
]
BYES = ["you are welcome.", "you are welcome.", "have a nice day!", "glad to help.", "goodbye!"]
NO = ["no thanks", "no, that is all", "that is all", "nope", "no, thank you"]
CORRECT = ["sorry, i meant {0}", "actually make that {0}", "wait, {0} is better", "no, {0} please"]
SMALL = [
    ("how are you today?", "i am fine, thanks for asking. what can i do for you?"),
    ("are you a real person?", "i am an assistant, but i will do my best."),
    ("the weather is awful today", "it really is. let us sort this out quickly."),
]
BEFORE = [
    "well, ",
    "ah, ",
    "oh, ",
    "hmm, ",
    "alright, ",
    "right, ",
    "so, ",
    "uh, ",
    "good, ",
    "and ",
    "by the way, ",
    "just to be sure, ",
    "fine, ",
    "got it, ",
    "i see, ",
]
AFTER = [
    " {name}",
    " for {day}",
    " at {time}",
    " in {city}",
    " then",
    " for now",
    " i think",
    " you know",
    " today",
    " again",
    " my friend",
    " so far",
    " on my side",
    ", {name} here",
]
SLOT = re.compile(r"\{(\w+)\}")


class Talk:
    """One conversation: remembers the values it has used, so that replies repeat them."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.values, self.turns = draw, {}, []

    def say(
        self, speaker: str, pattern: str, intent: str | None = None, fresh: bool = False
    ) -> None:
        """Fill a pattern's slots and append the turn, with offsets."""
        if not SLOT.search(pattern) and self.draw.random() < 0.62:
            pattern = vary(self.draw, pattern)
        text, slots, end = "", [], 0
        for hit in SLOT.finditer(pattern):
            name = hit[1]
            if fresh or name not in self.values:
                self.values[name] = self.draw.choice(VALUES[name])
            text += pattern[end : hit.start()]
            slots.append(
                {"start": len(text), "end": len(text) + len(self.values[name]), "label": name}
            )
            text, end = text + self.values[name], hit.end()
        turn = {"speaker": speaker, "text": text + pattern[end:]}
        turn |= {"intent": intent} if intent else {}
        self.turns.append(turn | ({"slots": slots} if slots else {}))


def vary(draw: random.Random, pattern: str) -> str:
    """Return a stock phrase in one of many dresses: repeats are common but not everything."""
    body, mark = (pattern[:-1], pattern[-1]) if pattern[-1] in ".?!" else (pattern, "")
    before = draw.choice(BEFORE) if draw.random() < 0.7 else ""
    return before + body + (draw.choice(AFTER) if draw.random() < 0.8 or not before else "") + mark


def wording(draw: random.Random, ways: list[str]) -> str:
    """Return a way to ask, with an opener and a tail."""
    return draw.choice(OPENERS) + draw.choice(ways) + draw.choice(TAILS)


def task(talk: Talk, intent: str, asks: list[str], questions: list[str], closes: list[str]) -> None:
    """One goal: ask, be asked back, perhaps correct oneself, get it done."""
    draw = talk.draw
    talk.say("user", wording(draw, asks), intent)
    if draw.random() < 0.6:
        talk.say(
            "system",
            (draw.choice(HOLDS) + " " if draw.random() < 0.4 else "") + draw.choice(questions),
        )
        if draw.random() < 0.25 and talk.values:
            name = draw.choice(sorted(talk.values))
            talk.values.pop(name)
            talk.say("user", draw.choice(CORRECT).format("{" + name + "}"), "correct")
        else:
            talk.say(
                "user",
                draw.choice(
                    [
                        *ACKS,
                        "{time}",
                        "{day}",
                        "{name}",
                        "i do not mind",
                        "the first one",
                        "not sure yet",
                    ]
                ),
                "answer",
            )
    elif draw.random() < 0.3:
        talk.say("system", draw.choice(HOLDS))
        talk.say("user", draw.choice(ACKS), "affirm")
    talk.say("system", draw.choice(closes))


def dialogue(draw: random.Random, identity: str, ways: dict[str, list[str]]) -> dict:
    """One dialogue of one to three goals, mostly in one domain."""
    talk = Talk(draw)
    domain = draw.choice(sorted(DOMAINS))
    if draw.random() < 0.08:
        asked, answered = draw.choice(SMALL)
        talk.say("user", asked, "small_talk")
        talk.say("system", answered)
    for goal in range(draw.choice([1, 1, 2, 2, 3])):
        here = draw.choice(sorted(DOMAINS)) if goal and draw.random() < 0.3 else domain
        intent = draw.choice(sorted(DOMAINS[here]))
        _, questions, closes = DOMAINS[here][intent]
        task(talk, intent, ways[intent], questions, closes)
        talk.values.clear()
        if draw.random() < 0.4:
            talk.say("user", draw.choice(THANKS), "thanks")
            talk.say("system", draw.choice(MORE))
    talk.say("user", draw.choice(NO if talk.turns[-1]["text"].endswith("?") else THANKS), "close")
    talk.say("system", draw.choice(BYES))
    return {"id": identity, "domain": domain, "turns": talk.turns}


def labelled(draw: random.Random, ways: dict[str, list[str]], split: str, count: int) -> list[dict]:
    """Distinct utterances of each intent, for few-shot evaluation."""
    rows: list[dict] = []
    for intent in sorted(ways):
        seen: set[str] = set()
        for _ in range(50 * count):
            talk = Talk(draw)
            talk.say("user", wording(draw, ways[intent]))
            seen.add(talk.turns[0]["text"])
            if len(seen) == count:
                break
        rows += [{"text": text, "label": intent, "split": split} for text in sorted(seen)]
    return rows


def write(path: Path, rows: list[dict]) -> None:
    """Write gzipped JSON lines, the same bytes each time."""
    data = "".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows
    ).encode()
    with (
        path.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file,
    ):
        file.write(data)


def corpus(seed: int = 7) -> dict[str, list[dict]]:
    """Return the three files: training dialogues, held-out dialogues, labelled utterances."""
    draw = random.Random(seed)
    ways = {intent: parts[0] for intents in DOMAINS.values() for intent, parts in intents.items()}
    train = [dialogue(draw, f"train-{i}", ways) for i in range(5000)]
    heldout = [dialogue(draw, f"heldout-{i}", ways) for i in range(600)]
    few = {
        intent: asks[: len(asks) // 2] for intent, asks in ways.items()
    }  # support and test are phrased differently
    rest = {intent: asks[len(asks) // 2 :] for intent, asks in ways.items()}
    return {
        "dialogues": train,
        "heldout": heldout,
        "intents": labelled(draw, few, "train", 20) + labelled(draw, rest, "test", 20),
    }


def main() -> None:
    for name, rows in corpus().items():
        write(Path(__file__).with_name(f"{name}.jsonl.gz"), rows)


if __name__ == "__main__":
    main()
