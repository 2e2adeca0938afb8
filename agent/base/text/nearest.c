#include "base/text/nearest.h"

/* longer names are not compared, to bound the work */
enum { NAME_MAX_BYTES = 128, SHORT_FORM_MIN_BYTES = 3 };

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Number of edits (insert, delete, replace, swap of neighbours) between two names: the optimal
 * string alignment distance, keeping three rows of its table. */
static size_t distance(struct span a, struct span b)
{
    size_t rows[3][NAME_MAX_BYTES + 1];
    for (size_t j = 0; j <= b.size; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.size; i++) {
        size_t *row = rows[i % 3];
        const size_t *above = rows[(i + 2) % 3];
        const size_t *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            uint8_t x = span_lower(a.data[i - 1]);
            uint8_t y = span_lower(b.data[j - 1]);
            row[j] = min(above[j - 1] + (x != y), min(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x == span_lower(b.data[j - 2]) &&
                y == span_lower(a.data[i - 2])) {
                row[j] = min(row[j], two_above[j - 2] + 1);
            }
        }
    }
    return rows[a.size % 3][b.size];
}

void nearest_consider(struct nearest *nearest, struct span name)
{
    struct span text = nearest->text;
    if (text.size > NAME_MAX_BYTES || name.size > NAME_MAX_BYTES) {
        return;
    }
    bool is_start = text.size >= SHORT_FORM_MIN_BYTES &&
                    span_equal_nocase(text, span_first(name, text.size));
    size_t edits = is_start ? 1 : distance(text, name);
    if (!nearest->best.data || edits < nearest->edits) {
        nearest->best = name;
        nearest->edits = edits;
    }
}

struct span nearest_meant(const struct nearest *nearest)
{
    struct span best = nearest->best;
    bool near = best.data && nearest->edits < min(nearest->text.size, best.size) &&
                nearest->edits <= 1 + nearest->text.size / 4;
    return near ? best : span_make(NULL, 0);
}
