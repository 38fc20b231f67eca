#include "patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A seed of its own for each message; neighbouring messages have nothing in common. */
static uint64_t key(struct message message)
{
    uint64_t state = ((uint64_t)message.sender << 32) + (uint64_t)message.receiver;
    state = random_next(&state) + (uint64_t)message.phase * 2 + (uint64_t)message.stage;
    return random_next(&state);
}

/* For tests alone: PATTERNS_TEST_CORRUPT=RANK:OFFSET:STAGE (STAGE 0: untimed, 1: timed) changes one
 * byte of what RANK sends, so that a test sees that the receiver finds and names it. */
static void corrupt(unsigned char *buffer, size_t bytes, struct message message)
{
    const char *text = getenv("PATTERNS_TEST_CORRUPT");
    int sender, stage;
    size_t offset;
    if (text && sscanf(text, "%d:%zu:%d", &sender, &offset, &stage) == 3 &&
        sender == message.sender && stage == message.stage && offset < bytes)
        buffer[offset] ^= 0xff;
}

void message_fill(unsigned char *buffer, size_t bytes, struct message message)
{
    uint64_t state = key(message);
    for (size_t i = 0; i < bytes; i += sizeof state) {
        uint64_t word = random_next(&state);
        memcpy(buffer + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
    corrupt(buffer, bytes, message);
}

bool message_arrived(
    const unsigned char *buffer, size_t bytes, struct message message, struct fault *fault)
{
    uint64_t state = key(message);
    for (size_t i = 0; i < bytes; i += sizeof state) {
        unsigned char expected[sizeof state];
        uint64_t word = random_next(&state);
        size_t length = bytes - i < sizeof word ? bytes - i : sizeof word;
        memcpy(expected, &word, sizeof word);
        if (!memcmp(buffer + i, expected, length))
            continue;
        size_t k = 0;
        while (buffer[i + k] == expected[k])
            k++;
        *fault = (struct fault){i + k, expected[k], buffer[i + k]};
        return false;
    }
    return true;
}

void message_require(const unsigned char *buffer, size_t bytes, struct message message)
{
    struct fault fault;
    if (!message_arrived(buffer, bytes, message, &fault))
        die("the message of %zu bytes from rank %d in phase %ld (%s) is wrong from byte %zu on: "
            "expected 0x%02x, found 0x%02x",
            bytes, message.sender, message.phase, message.stage == TIMED ? "timed" : "untimed",
            fault.offset, fault.expected, fault.found);
}
