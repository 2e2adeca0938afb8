/*
 * UTF-16 to JSON: how fast is each engine, and how many times as fast as the scalar one? The texts
 * are cut into strings of the lengths that events carry. Engines take turns on every text, and the
 * fastest of the rounds counts, so that a noisy machine disturbs all of them alike.
 *
 *   bench_utf [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/utf.h"
#include "platform/plat_clock.h"

enum { TEXT_UNITS = 64 * 1024, TEXT_BYTES = TEXT_UNITS * 2, ENGINES = 4 };

static const char *const engines[ENGINES] = {"scalar", "sse2", "ssse3", "neon"};

static const struct sample {
    const char *name;
    const char *utf8; /* repeated */
    size_t string_units;
} samples[] = {
    {"ASCII words, 12 units", "Microsoft-Windows-Kernel-Process ", 12},
    {"ASCII words, 24 units", "Microsoft-Windows-Kernel-Process ", 24},
    {"ASCII words, 40 units", "Microsoft-Windows-Kernel-Process ", 40},
    {"ASCII words, 1000 units", "Microsoft-Windows-Kernel-Process ", 1000},
    {"paths, 40 units", "C:\\Windows\\System32\\drivers\\etc\\hosts ", 40},
    {"paths, 120 units", "\\Device\\HarddiskVolume3\\Program Files\\Common Files\\a.dll ", 120},
    {"script lines, 1000 units", "if ($x -eq \"a\") {\r\n\t$y = Get-Item 'C:\\t';\r\n}\r\n", 1000},
    {"German, 40 units", "Größe der Übertragung überschreitet das zulässige Maß. ", 40},
    {"French, 1000 units", "L’événement a été créé à l’étape précédente, où ça échoue. ", 1000},
    {"Russian, 40 units", "Служба политики диагностики запущена успешно. ", 40},
    {"Russian, 1000 units", "Служба политики диагностики запущена успешно. ", 1000},
    {"Japanese, 40 units", "サービスは正常に開始されました。イベント", 40},
    {"Chinese, 1000 units", "服务已成功启动。事件日志已满，无法写入", 1000},
    {"emoji, 40 units", "done 👍 failed 💥 retry 🔁 ", 40},
};

static size_t fill(const char *utf8, uint8_t *utf16)
{
    struct span text = span_text(utf8);
    size_t units = 0;
    size_t at = 0;
    while (units + 2 <= TEXT_UNITS) {
        at = at < text.size ? at : 0;
        uint32_t c = utf8_next(text, &at);
        if (c >= 0x10000) {
            store_le16(utf16 + units++ * 2, (uint16_t)(0xd7c0 + (c >> 10)));
            c = 0xdc00 + (c & 0x3ff);
        }
        store_le16(utf16 + units++ * 2, (uint16_t)c);
    }
    return units;
}

static uint64_t time_ns(struct span utf16, size_t string_bytes, uint8_t *out, uint64_t *sink)
{
    uint64_t start = plat_monotonic_ns();
    size_t total = 0;
    for (size_t at = 0; at < utf16.size; at += string_bytes) {
        total += utf16_to_json(span_first(span_from(utf16, at), string_bytes), out);
    }
    *sink += total;
    return plat_monotonic_ns() - start;
}

static void run(const struct sample *sample, unsigned rounds, uint8_t *utf16, uint8_t *out)
{
    struct span text = span_make(utf16, fill(sample->utf8, utf16) * 2);
    uint64_t best[ENGINES] = {0};
    uint64_t sink = 0;
    for (unsigned round = 0; round < rounds; round++) {
        for (size_t i = 0; i < ENGINES; i++) {
            if (utf_set_engine(engines[i])) {
                uint64_t ns = time_ns(text, sample->string_units * 2, out, &sink);
                best[i] = best[i] == 0 || ns < best[i] ? ns : best[i];
            }
        }
    }
    printf("%-26s", sample->name);
    for (size_t i = 0; i < ENGINES; i++) {
        if (best[i]) {
            printf("  %s %6.2f GB/s %5.2fx", engines[i], (double)text.size / (double)best[i],
                (double)best[0] / (double)best[i]);
        }
    }
    printf("%s\n", sink ? "" : " nothing written");
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 300;
    uint8_t *utf16 = malloc(TEXT_BYTES);
    uint8_t *out = malloc(utf16_json_bound(TEXT_BYTES));
    if (!utf16 || !out) {
        fputs("bench_utf: out of memory\n", stderr);
        free(utf16);
        free(out);
        return 1;
    }
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        run(&samples[i], rounds, utf16, out);
    }
    free(utf16);
    free(out);
    return 0;
}
