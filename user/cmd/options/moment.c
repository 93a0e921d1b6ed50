/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parses times digit by digit; libc is used only for time zones. */
#include "cmd/options/moment.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cmd/options/values.h"

#define SECOND_NS 1000000000ll
#define WALL_MAX_NS (7000000000 * SECOND_NS) /* in the year 2191 */

/* Takes one to `digits` digits, up to the value `most`; moves *at after them. */
static bool take_number(const char **at, size_t digits, int most, int *number)
{
	size_t taken = 0;

	*number = 0;
	for (; taken < digits && isdigit((unsigned char)**at); taken++)
		*number = 10 * *number + *(*at)++ - '0';
	return taken && !isdigit((unsigned char)**at) && *number <= most;
}

/* "" or ".5", up to nine digits. */
static bool take_fraction(const char **at, int64_t *ns)
{
	int64_t unit = SECOND_NS;

	*ns = 0;
	if (**at != '.')
		return true;
	for (++*at; isdigit((unsigned char)**at) && unit > 1; ++*at)
		*ns += (**at - '0') * (unit /= 10);
	return unit < SECOND_NS && !isdigit((unsigned char)**at);
}

static bool take_char(const char **at, char wanted)
{
	if (**at != wanted)
		return false;
	++*at;
	return true;
}

/* "14:03:20.5" */
static bool take_clock(const char **at, int64_t *ns)
{
	int hours, minutes, seconds;
	int64_t fraction;

	if (!take_number(at, 2, 23, &hours) || !take_char(at, ':') || !take_number(at, 2, 59, &minutes) ||
	    !take_char(at, ':') || !take_number(at, 2, 59, &seconds) || !take_fraction(at, &fraction))
		return false;
	*ns = (hours * 3600 + minutes * 60 + seconds) * SECOND_NS + fraction;
	return true;
}

/* "", "Z", "+01:00", "-0530" up to the end. */
static bool take_zone(const char *at, struct moment *out)
{
	int hours, minutes, sign = *at == '-' ? -1 : 1;

	if (!*at)
		return true;
	out->has_zone = true;
	if (!strcmp(at, "Z"))
		return true;
	if (!take_char(&at, '+') && !take_char(&at, '-'))
		return false;
	if (strlen(at) == 4 && strspn(at, "0123456789") == 4) {
		hours = 10 * (at[0] - '0') + at[1] - '0';
		minutes = 10 * (at[2] - '0') + at[3] - '0';
	} else if (!take_number(&at, 2, 18, &hours) || !take_char(&at, ':') || !take_number(&at, 2, 59, &minutes) ||
		   *at) {
		return false;
	}
	out->zone_s = sign * (hours * 3600 + minutes * 60);
	return hours <= 18 && minutes < 60;
}

/* "1:30" and "1:30.5", minutes and seconds since the start. */
static int parse_minutes(const char *at, struct moment *out)
{
	int minutes, seconds;
	int64_t fraction;

	if (!take_number(&at, 6, 525600, &minutes) || !take_char(&at, ':') || !take_number(&at, 2, 59, &seconds) ||
	    !take_fraction(&at, &fraction) || *at)
		return -EINVAL;
	*out = (struct moment){.kind = MOMENT_SINCE_START, .ns = (minutes * 60ll + seconds) * SECOND_NS + fraction};
	return 0;
}

static int parse_of_day(const char *at, struct moment *out)
{
	*out = (struct moment){.kind = MOMENT_OF_DAY};
	return take_clock(&at, &out->ns) && take_zone(at, out) ? 0 : -EINVAL;
}

/* Whether `seconds` has the wanted date: otherwise there is no such day. */
static bool is_real(const struct tm *wanted, time_t seconds, bool utc)
{
	struct tm is;

	if (utc)
		gmtime_r(&seconds, &is);
	else
		localtime_r(&seconds, &is);
	return is.tm_mday == wanted->tm_mday && is.tm_mon == wanted->tm_mon && is.tm_year == wanted->tm_year;
}

static int parse_of_date(const char *at, struct moment *out)
{
	int year, month, day;
	struct tm wanted, normal;
	int64_t clock_ns;
	time_t seconds;

	*out = (struct moment){.kind = MOMENT_OF_DATE};
	if (!take_number(&at, 4, 2200, &year) || year < 1970 || !take_char(&at, '-') ||
	    !take_number(&at, 2, 12, &month) || !month || !take_char(&at, '-') || !take_number(&at, 2, 31, &day) ||
	    !day || (!take_char(&at, 'T') && !take_char(&at, ' ')) || !take_clock(&at, &clock_ns) ||
	    !take_zone(at, out))
		return -EINVAL;
	wanted = (struct tm){.tm_year = year - 1900,
			     .tm_mon = month - 1,
			     .tm_mday = day,
			     .tm_hour = (int)(clock_ns / SECOND_NS / 3600),
			     .tm_min = (int)(clock_ns / SECOND_NS / 60 % 60),
			     .tm_sec = (int)(clock_ns / SECOND_NS % 60),
			     .tm_isdst = -1};
	normal = wanted;
	seconds = out->has_zone ? timegm(&normal) : mktime(&normal);
	if (!is_real(&wanted, seconds, out->has_zone))
		return -EINVAL;
	out->ns = ((int64_t)seconds - out->zone_s) * SECOND_NS + clock_ns % SECOND_NS;
	return 0;
}

/* "@1796049000" and "@1796049000.5", seconds since 1970 */
static int parse_unix(const char *at, struct moment *out)
{
	int64_t fraction, seconds = 0;
	size_t digits = strspn(at, "0123456789");

	if (!digits || digits > 10)
		return -EINVAL;
	while (digits--)
		seconds = 10 * seconds + *at++ - '0';
	*out = (struct moment){.kind = MOMENT_OF_DATE, .ns = seconds * SECOND_NS};
	if (!take_fraction(&at, &fraction) || *at || out->ns > WALL_MAX_NS)
		return -EINVAL;
	out->ns += fraction;
	return 0;
}

static int parse_moment(const char *text, struct moment *out)
{
	static const char *const zeros[] = {"0", "0s", "0ms", "0m", "0h", "0.0"}; /* which are no duration */
	const char *colon = strchr(text, ':');
	uint64_t ns;

	if (*text == '@')
		return parse_unix(text + 1, out);
	if (strchr(text, '-') && strspn(text, "0123456789") == 4)
		return parse_of_date(text, out);
	if (colon)
		return strchr(colon + 1, ':') ? parse_of_day(text, out) : parse_minutes(text, out);
	*out = (struct moment){.kind = MOMENT_SINCE_START};
	for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++)
		if (!strcmp(text, zeros[i]))
			return 0;
	if (value_duration(text, &ns))
		return -EINVAL;
	out->ns = (int64_t)ns;
	return 0;
}

int moment_parse(const char *text, struct moment *out)
{
	int err = parse_moment(text, out);

	out->text = text;
	return err;
}

/* ---- on the clock of a recording -------------------------------------------------------------------------------- */

/* What to add to the time of day to get CLOCK_REALTIME, on the day of wall_ns or `days` days later. */
static int64_t day_begin(const struct moment *moment, int64_t wall_ns, int days)
{
	time_t seconds = (time_t)(wall_ns / SECOND_NS);
	struct tm day;

	if (moment->has_zone) {
		int64_t local = (int64_t)seconds + moment->zone_s;

		return (local - local % 86400 + days * 86400ll - moment->zone_s) * SECOND_NS;
	}
	localtime_r(&seconds, &day);
	/* mktime of the time of day, not of midnight: the clock may have been set to summer time in between */
	day.tm_mday += days;
	day.tm_hour = (int)(moment->ns / SECOND_NS / 3600);
	day.tm_min = (int)(moment->ns / SECOND_NS / 60 % 60);
	day.tm_sec = (int)(moment->ns / SECOND_NS % 60);
	day.tm_isdst = -1;
	return (int64_t)mktime(&day) * SECOND_NS - moment->ns / SECOND_NS * SECOND_NS;
}

static int64_t distance_to_span(int64_t ns, int64_t start_ns, int64_t end_ns)
{
	return ns < start_ns ? start_ns - ns : ns > end_ns ? ns - end_ns : 0;
}

/* The first time within the recording at which a clock shows the time of day, else the nearest one outside. */
static int64_t nearest_of_day(const struct moment *moment, int64_t start_ns, int64_t end_ns)
{
	int64_t best = day_begin(moment, start_ns, -1) + moment->ns;

	for (int days = 0; days <= 1 || day_begin(moment, start_ns, days) <= end_ns; days++) {
		int64_t ns = day_begin(moment, start_ns, days) + moment->ns;

		if (distance_to_span(ns, start_ns, end_ns) < distance_to_span(best, start_ns, end_ns))
			best = ns;
		if (ns > end_ns)
			break;
	}
	return best;
}

/* A log's time as CLOCK_REALTIME, limited to the range of a calendar: a log can claim any. */
static int64_t wall_time(uint64_t ns, int64_t offset_ns)
{
	int64_t wall_ns;

	if (ns > INT64_MAX || __builtin_add_overflow((int64_t)ns, offset_ns, &wall_ns) || wall_ns < 0)
		return 0;
	return wall_ns < WALL_MAX_NS ? wall_ns : WALL_MAX_NS;
}

uint64_t moment_resolve(const struct moment *moment, const struct moment_clock *clock)
{
	int64_t ns = moment->ns;

	if (moment->kind == MOMENT_SINCE_START)
		return clock->start_ns + (uint64_t)ns;
	if (moment->kind == MOMENT_OF_DAY)
		ns = nearest_of_day(moment, wall_time(clock->start_ns, clock->wall_offset_ns),
				    wall_time(clock->end_ns, clock->wall_offset_ns));
	if (__builtin_sub_overflow(ns, clock->wall_offset_ns, &ns) || ns < 0)
		return 0;
	return (uint64_t)ns;
}
