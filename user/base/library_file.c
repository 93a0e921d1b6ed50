/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/library_file.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"

/* Length of a path's first component, without ".py"; Windows paths have either slash. */
static size_t first_part(const char *path)
{
	size_t length = strcspn(path, "/\\");

	return !path[length] && length > 3 && !strcmp(path + length - 3, ".py") ? length - 3 : length;
}

static bool is_in(const char *const *names, size_t count, const char *name, size_t length)
{
	return any_of(count, i, strlen(names[i]) == length && !memcmp(names[i], name, length));
}

/*
 * The standard library of CPython 3.6 to 3.14, without built-in modules and without names that people often give files
 * of their own: code, profile, test, trace.
 */
/* clang-format off */
static const char *const standard[] = {
	"_collections_abc", "_compat_pickle", "_compression", "_markupbase", "_osx_support", "_py_abc",
	"_pydatetime", "_pydecimal", "_pyio", "_pylong", "_pyrepl", "_sitebuiltins", "_strptime",
	"_threading_local", "_weakrefset", "abc", "aifc", "argparse", "ast", "asynchat", "asyncio", "asyncore",
	"base64", "bdb", "binhex", "bisect", "bz2", "cProfile", "calendar", "cgi", "cgitb", "cmd", "codecs",
	"codeop", "collections", "colorsys", "compileall", "compression", "concurrent", "configparser",
	"contextlib", "contextvars", "copy", "copyreg", "csv", "ctypes", "curses", "dataclasses", "datetime", "dbm",
	"decimal", "difflib", "dis", "distutils", "doctest", "email", "encodings", "enum", "filecmp", "fileinput",
	"fnmatch", "fractions", "ftplib", "functools", "genericpath", "getopt", "getpass", "gettext", "glob",
	"graphlib", "gzip", "hashlib", "heapq", "hmac", "html", "http", "imaplib", "imghdr", "imp", "importlib",
	"inspect", "io", "ipaddress", "json", "keyword", "linecache", "locale", "logging", "lzma", "mailbox",
	"mimetypes", "modulefinder", "multiprocessing", "netrc", "ntpath", "nturl2path", "numbers", "opcode",
	"operator", "optparse", "os", "pathlib", "pdb", "pickle", "pickletools", "pkgutil", "platform", "plistlib",
	"poplib", "posixpath", "pprint", "pstats", "pty", "py_compile", "pyclbr", "pydoc", "queue", "quopri",
	"random", "re", "reprlib", "rlcompleter", "runpy", "sched", "secrets", "selectors", "shelve", "shlex",
	"shutil", "signal", "site", "smtplib", "socket", "socketserver", "sqlite3", "sre_compile", "sre_constants",
	"sre_parse", "ssl", "stat", "statistics", "string", "stringprep", "struct", "subprocess", "symtable",
	"sysconfig", "tarfile", "telnetlib", "tempfile", "textwrap", "threading", "timeit", "tkinter", "token",
	"tokenize", "tomllib", "traceback", "tracemalloc", "tty", "types", "typing", "unittest", "urllib", "uuid",
	"venv", "warnings", "wave", "weakref", "webbrowser", "wsgiref", "xml", "xmlrpc", "zipapp", "zipfile",
	"zipimport", "zoneinfo",
};
/* clang-format on */

static bool is_standard(const char *path)
{
	return is_in(standard, sizeof(standard) / sizeof(standard[0]), path, first_part(path));
}

/* Installed packages: the common ones on machines with GPUs. */
/* clang-format off */
static const char *const packages[] = {
	"IPython", "PIL", "_pytest", "absl", "accelerate", "aiohttp", "albumentations", "anyio", "apex",
	"bitsandbytes", "click", "cloudpickle", "cupy", "cv2", "dask", "debugpy", "deepspeed", "dgl", "diffusers",
	"einops", "fastai", "fastapi", "flash_attn", "flask", "flax", "functorch", "gradio", "huggingface_hub",
	"hydra", "ipykernel", "ipykernel_launcher", "jax", "jaxlib", "joblib", "keras", "kornia", "lightning",
	"lightning_fabric", "matplotlib", "mlflow", "mmcv", "mmengine", "monai", "networkx", "nltk", "numba",
	"numpy", "nvidia", "omegaconf", "onnx", "onnxruntime", "optax", "optree", "pandas", "peft", "pluggy",
	"pydantic", "pytest", "pytorch_lightning", "ray", "requests", "safetensors", "scipy",
	"sentence_transformers", "sklearn", "spacy", "starlette", "sympy", "tensorboard", "tensorboardX",
	"tensorflow", "timm", "tokenizers", "torch", "torch_geometric", "torchao", "torchaudio", "torchgen",
	"torchmetrics", "torchtext", "torchvision", "tornado", "tqdm", "traitlets", "transformer_engine",
	"transformers", "triton", "trl", "typer", "urllib3", "uvicorn", "uvloop", "wandb", "webdataset", "werkzeug",
	"xformers", "zmq",
};
/* clang-format on */

static bool is_package(const char *path)
{
	return is_in(packages, sizeof(packages) / sizeof(packages[0]), path, first_part(path));
}

/* "C:/Python311/Lib/threading.py", "D:\conda\lib\asyncio\events.py" */
static bool is_standard_of_windows(const char *path)
{
	for (const char *at = path; (at = strpbrk(at, "/\\")); at++)
		if (!strncasecmp(at + 1, "lib", 3) && (at[4] == '/' || at[4] == '\\') && is_standard(at + 5))
			return true;
	return false;
}

static bool is_absolute_of_windows(const char *path)
{
	return ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z' && path[1] == ':' &&
		(path[2] == '/' || path[2] == '\\'));
}

/* Whether a folder is in the path; a Windows path may have either slash, even mixed. */
static bool has_folder(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	for (const char *at = path; (at = strstr(at, folder)); at += length)
		if ((at == path || at[-1] == '/' || at[-1] == '\\') && (at[length] == '/' || at[length] == '\\'))
			return true;
	return false;
}

bool file_is_library(const char *path)
{
	static const char *const marks[] = {"/lib/python", "/lib64/python", "/torch/_dynamo/", "/torch/_inductor/"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(path, marks[i]))
			return true;
	if (has_folder(path, "site-packages") || has_folder(path, "dist-packages"))
		return true;
	if (is_absolute_of_windows(path))
		return is_standard_of_windows(path);
	/* torch.profiler writes paths without the folder of sys.path that they are in */
	if (*path != '/' && (is_standard(path) || is_package(path)))
		return true;
	return *path == '<' || file_is_generated(path);
}
