#include "program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* How the command line of an interpreter tells the script: the first word that is neither an option nor its value. */
struct interpreter {
    const char *name;        /* digits, dots and dashes may follow */
    const char *code;        /* letters of options whose value is the program text: there is no script */
    const char *script;      /* whose value is the script or module, in this word or the next */
    const char *value;       /* whose value is in this word or the next */
    const char *value_here;  /* whose value, if any, is the rest of this word */
    const char *long_script; /* `--file=` */
    const char *long_value;  /* long options whose value is the next word, each with spaces around it */
};

static const struct interpreter interpreters[] = {
    {"python", "c", "m", "WX", "", "", " --check-hash-based-pycs "},
    {"pypy", "c", "m", "WX", "", "", ""},
    {"perl", "eE", "", "I", "0CDFilmMVx", "", ""},
    {"ruby", "e", "", "CEFIr", "0iKTWx", "", ""},
    {"julia", "eE", "m", "CHJLpt", "gO", "",
     " --home --sysimage --cpu-target --threads --procs --load --machine-file --project "},
    {"R", "e", "f", "dg", "", "--file=", " --encoding --gui --debugger "},
    {"lua", "", "", "el", "", "", ""},
};

/* Options of `python -m mpi4py`, which runs a script itself. */
static const struct interpreter runner = {"mpi4py", "c", "m", "p", "", "", " -rc --rc -prof --prof "};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct interpreter *find_interpreter(const char *name)
{
    for (size_t i = 0; i < sizeof interpreters / sizeof *interpreters; i++) {
        const size_t length = strlen(interpreters[i].name);
        if (strncmp(name, interpreters[i].name, length) == 0 && !isalpha((unsigned char)name[length])
            && name[length] != '_')
            return &interpreters[i];
    }
    return NULL;
}

/* The words of the command line: each ends with a zero. */
struct words {
    const char *next, *end;
};

static const char *take_word(struct words *words)
{
    if (words->next >= words->end)
        return NULL;
    const char *word = words->next;
    words->next += strlen(word) + 1;
    return word;
}

static bool has_letter(const char *letters, char letter)
{
    return letter && strchr(letters, letter);
}

/* The script that an option names, or NULL; `*code` if the option has the program text. */
static const char *script_of_option(const struct interpreter *interpreter, const char *option,
                                    struct words *words, bool *code)
{
    char spaced[64] = " ";
    const size_t prefix = strlen(interpreter->long_script);
    if (prefix && strncmp(option, interpreter->long_script, prefix) == 0)
        return option + prefix;
    if (strlen(option) + 3 <= sizeof spaced) {
        strcat(strcat(spaced, option), " ");
        if (strstr(interpreter->long_value, spaced)) {
            take_word(words);
            return NULL;
        }
    }
    if (option[1] == '-')
        return NULL;
    for (const char *letter = option + 1; *letter; letter++) {
        *code = has_letter(interpreter->code, *letter);
        const bool script = has_letter(interpreter->script, *letter);
        if (*code || has_letter(interpreter->value_here, *letter))
            return NULL;
        if (script || has_letter(interpreter->value, *letter)) {
            const char *value = letter[1] ? letter + 1 : take_word(words);
            return script ? value : NULL;
        }
    }
    return NULL;
}

/* NULL without a script: the program text is an argument or comes from standard input. */
static const char *find_script(const struct interpreter *interpreter, struct words *words)
{
    bool code = false;
    for (const char *word = take_word(words); word; word = take_word(words)) {
        if (strcmp(word, "-") == 0)
            return NULL;
        if (strcmp(word, "--") == 0)
            return take_word(words);
        if (word[0] != '-')
            return word;
        const char *script = script_of_option(interpreter, word, words, &code);
        if (script || code)
            return script;
    }
    return NULL;
}

static size_t read_command_line(char *text, size_t room)
{
    const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t count = 1;
    while (file >= 0 && length + 1 < room && count > 0) {
        count = read(file, text + length, room - 1 - length);
        if (count > 0)
            length += (size_t)count;
    }
    if (file >= 0)
        close(file);
    text[length] = '\0';
    return length;
}

void rw_program_name(char *name, size_t room)
{
    char text[16384];
    const char *shown = program_invocation_short_name;
    const struct interpreter *interpreter = find_interpreter(shown);
    struct words words = {text, text};
    if (interpreter)
        words.end += read_command_line(text, sizeof text);
    if (take_word(&words)) {
        const char *script = find_script(interpreter, &words);
        if (script && (strcmp(script, "mpi4py") == 0 || strcmp(script, "mpi4py.run") == 0))
            script = find_script(&runner, &words);
        if (script && file_name(script)[0])
            shown = file_name(script);
    }
    name[0] = '\0';
    strncat(name, shown, room - 1);
}
