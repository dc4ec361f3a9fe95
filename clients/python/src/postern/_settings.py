"""The client's options. If an argument is missing, its POSTERN_ variable applies, or else its default."""

from __future__ import annotations

import logging as std_logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from ._errors import ConfigurationError
from ._headers import checked_headers, checked_query
from ._hooks import AsyncKeyFunction, AsyncRequestHook, AsyncResponseHook
from ._secret import Secret
from .types import Environment, GovernorOptions, LoggingOptions, LogLevel, LogRecord

MAX_TIMEOUT_MS = 2**31 - 1
DEFAULT_TIMEOUT_MS = 600_000
MAX_RETRIES = 10
DEFAULT_RETRIES = 2
DEVELOPMENT_URL = "http://127.0.0.1:8787"
_THRESHOLD = "governor['auto_approve_threshold']"
LEVELS = ("debug", "info", "warn", "error", "off")
LOOPBACK = re.compile(r"localhost|.+\.localhost|127(\.[0-9]{1,3}){3}|::1")

T = TypeVar("T")
F = TypeVar("F")


@dataclass(frozen=True)
class Governor:
    """The settings of the Governor, checked."""

    enabled: bool = True
    strict_mode: bool = False
    auto_approve_threshold: int | None = None

    def header(self) -> str | None:
        """The value of x-postern-govern; None if nothing is tightened."""
        parts: list[str] = []
        if self.strict_mode:
            parts.append("strict")
        if self.auto_approve_threshold is not None:
            parts.append(f"threshold={self.auto_approve_threshold}")
        return ", ".join(parts) if self.enabled and parts else None

    def merged(self, options: GovernorOptions | None) -> Governor:
        """These settings, overridden by those of a call."""
        given = _members("governor", options, GovernorOptions)
        return Governor(
            enabled=_bool("governor['enabled']", given.get("enabled"), self.enabled),
            strict_mode=_bool("governor['strict_mode']", given.get("strict_mode"), self.strict_mode),
            auto_approve_threshold=_threshold(given.get("auto_approve_threshold"), self.auto_approve_threshold),
        )


@dataclass(frozen=True)
class Logging:
    """The settings of the log, checked."""

    level: LogLevel
    pretty: bool
    content: bool
    logger: std_logging.Logger | Callable[[LogRecord], object] | None


@dataclass(frozen=True)
class Settings:
    """All options of a client, checked."""

    api_key: Secret | AsyncKeyFunction = field(repr=False)
    base_url: str
    environment: Environment
    required_environment: Environment | None
    """The environment that the caller has set. Every key that a function returns must belong to it."""
    timeout_ms: int
    retries: int
    idempotency: bool
    governor: Governor
    logging: Logging
    headers: Mapping[str, str] = field(repr=False)
    """The headers, which may contain secrets, for example for a proxy."""
    query: Mapping[str, str] = field(repr=False)
    on_request: AsyncRequestHook | None = field(repr=False)
    on_response: AsyncResponseHook | None = field(repr=False)

    @property
    def insecure_host(self) -> str | None:
        """The gateway's host, if production keys would be sent to it unencrypted."""
        url = urlsplit(self.base_url)
        is_safe = url.scheme == "https" or LOOPBACK.fullmatch(url.hostname or "") or self.environment != "production"
        return None if is_safe else url.netloc


def resolve(
    variables: Mapping[str, str],
    *,
    api_key: str | AsyncKeyFunction | None,
    base_url: str | None,
    environment: Environment | None,
    timeout_ms: int | None,
    retries: int | None,
    idempotency: bool | None,
    governor: GovernorOptions | None,
    logging: LoggingOptions | None,
    headers: Mapping[str, str] | None,
    query: Mapping[str, str] | None,
    on_request: AsyncRequestHook | None,
    on_response: AsyncResponseHook | None,
) -> Settings:
    """Checks the options. An argument takes precedence over its variable. An empty variable counts as unset."""
    env = _Variables(variables)
    key = api_key if callable(api_key) else _secret(env, api_key)
    of_key = _environment_of(key) if isinstance(key, Secret) else None
    name, wanted = env.named("environment", environment, "POSTERN_ENVIRONMENT")
    required = _check_environment(name, wanted, of_key)
    effective = of_key or required or "production"
    return Settings(
        api_key=key,
        base_url=_base_url(*env.named("base_url", base_url, "POSTERN_BASE_URL"), effective),
        environment=effective,
        required_environment=required,
        timeout_ms=env.integer("timeout_ms", timeout_ms, "POSTERN_TIMEOUT", 1, MAX_TIMEOUT_MS, DEFAULT_TIMEOUT_MS),
        retries=env.integer("retries", retries, "POSTERN_RETRIES", 0, MAX_RETRIES, DEFAULT_RETRIES),
        idempotency=env.boolean("idempotency", idempotency, "POSTERN_IDEMPOTENCY", False),
        governor=_governor(governor, env),
        logging=_logging(logging, env),
        headers=checked_headers("headers", headers),
        query=checked_query(query),
        on_request=_function("on_request", on_request),
        on_response=_function("on_response", on_response),
    )


def key_of_function(value: object, settings: Settings) -> Secret:
    """The key that the function `api_key` returned. Errors do not reveal it."""
    key = Secret(_key("The key that the function api_key returned", value))
    of_key = _environment_of(key)
    if of_key is not None and settings.required_environment not in (None, of_key):
        raise ConfigurationError(
            f"environment is {settings.required_environment}, but the key that the function api_key returned is for {of_key}."
        )
    return key


def check_timeout(value: object) -> int:
    """A timeout in milliseconds."""
    return _integer("timeout_ms", value, 1, MAX_TIMEOUT_MS)


def check_retries(value: object) -> int:
    """A number of retries."""
    return _integer("retries", value, 0, MAX_RETRIES)


def check_tolerance(value: object) -> int:
    """How far a time may be from the current time, in milliseconds."""
    return _integer("tolerance_ms", value, 0, MAX_TIMEOUT_MS)


class _Variables:
    """Options with their variables. A variable is read only if the option is not given."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables

    def text(self, name: str) -> str | None:
        return self._variables.get(name) or None

    def named(self, name: str, given: object, variable: str) -> tuple[str, object]:
        """The value and the name of an option. If the option is not given, those of its variable."""
        return (name, given) if given is not None else (variable, self.text(variable))

    def boolean(self, name: str, given: object, variable: str, default: bool) -> bool:
        value = self.text(variable) if given is None else None
        if value is None:
            return _bool(name, given, default)
        if value.lower() not in ("1", "0", "true", "false"):
            raise ConfigurationError(f"{variable} must be 1, 0, true or false.")
        return value.lower() in ("1", "true")

    def integer(self, name: str, given: object, variable: str, least: int, most: int, default: T) -> int | T:
        value = self.text(variable) if given is None else None
        if value is None:
            return default if given is None else _integer(name, given, least, most)
        if not re.fullmatch(r"[0-9]{1,10}", value):
            raise ConfigurationError(f"{variable} must be an integer from {least} to {most}.")
        return _integer(variable, int(value), least, most)


def _secret(env: _Variables, api_key: object) -> Secret:
    return Secret(_key(*env.named("api_key", api_key, "POSTERN_API_KEY")))


def _key(name: str, value: object) -> str:
    if value is None:
        raise ConfigurationError("An API key is required: pass api_key, or set POSTERN_API_KEY.")
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{name} must be a text that is not empty.")
    key = value.strip()
    if not re.fullmatch(r"[ -~]+", key):
        raise ConfigurationError(f"{name} has a control character or one that is not ASCII.")
    return key


def _environment_of(key: Secret) -> Environment | None:
    if key.reveal().startswith(("sk_live_", "pk_live_")):
        return "production"
    return "development" if key.reveal().startswith(("sk_test_", "pk_test_")) else None


def _check_environment(name: str, wanted: object, of_key: Environment | None) -> Environment | None:
    if wanted is None:
        return None
    if wanted not in ("production", "development"):
        raise ConfigurationError(f"{name} must be production or development.")
    if of_key is not None and wanted != of_key:
        raise ConfigurationError(
            f"{name} is {wanted}, but the API key is for {of_key}. Use a {wanted} key, or change {name}."
        )
    return wanted


def _function(name: str, value: F | None) -> F | None:
    if value is not None and not callable(value):
        raise ConfigurationError(f"{name} must be a function.")
    return value


def _base_url(name: str, value: object, environment: Environment) -> str:
    if value is None and environment == "development":
        return DEVELOPMENT_URL
    if value is None:
        raise ConfigurationError("The gateway's URL is required: pass base_url, or set POSTERN_BASE_URL.")
    if not isinstance(value, str):
        raise ConfigurationError(f"{name} must be a text.")
    text = value.strip()
    try:
        url = urlsplit(text)
        usable = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        raise ConfigurationError(f"{name} is not a URL.") from None
    if not usable or re.search(r"[\s\x00-\x1f\x7f\\]", text):
        raise ConfigurationError(f"{name} must be an http or https URL.")
    if "@" in url.netloc or "?" in text or "#" in text:
        raise ConfigurationError(f"{name} must be a URL without a user name, a query and a fragment.")
    text = text.rstrip("/")
    if urlsplit(text).path.endswith("/v1"):
        raise ConfigurationError(f"{name} must be the gateway's address without /v1 (that is for OpenAI's SDKs)")
    return text


def _governor(options: GovernorOptions | None, env: _Variables) -> Governor:
    given = _members("governor", options, GovernorOptions)
    threshold = given.get("auto_approve_threshold")
    return Governor(
        env.boolean("governor['enabled']", given.get("enabled"), "POSTERN_GOVERNOR_ENABLED", True),
        env.boolean("governor['strict_mode']", given.get("strict_mode"), "POSTERN_GOVERNOR_STRICT_MODE", False),
        env.integer(_THRESHOLD, threshold, "POSTERN_GOVERNOR_AUTO_APPROVE_THRESHOLD", 0, 100, None),
    )


def _logging(options: LoggingOptions | None, env: _Variables) -> Logging:
    given = _members("logging", options, LoggingOptions)
    level, name = given.get("level"), "logging['level']"
    if level is None:
        level, name = env.text("POSTERN_LOG_LEVEL") or "warn", "POSTERN_LOG_LEVEL"
    if level not in LEVELS:
        raise ConfigurationError(f"{name} must be {', '.join(LEVELS[:-1])} or {LEVELS[-1]}.")
    logger = given.get("logger")
    if logger is not None and not isinstance(logger, std_logging.Logger) and not callable(logger):
        raise ConfigurationError("logging['logger'] must be a logging.Logger or a function.")
    return Logging(
        level=level,
        pretty=env.boolean("logging['pretty']", given.get("pretty"), "POSTERN_LOG_PRETTY", False),
        content=_bool("logging['content']", given.get("content"), False),
        logger=cast(Any, logger),
    )


def _members(name: str, options: object, known: type) -> Mapping[str, Any]:
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ConfigurationError(f"{name} must be a dict.")
    members = cast(Mapping[str, Any], options)
    for member in members:
        if member not in known.__annotations__:
            raise ConfigurationError(f"{name} has no option {member!r}. It has {', '.join(known.__annotations__)}.")
    return members


def _bool(name: str, value: object, default: bool) -> bool:
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ConfigurationError(f"{name} must be True or False.")
    return value


def _integer(name: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigurationError(f"{name} must be an integer from {least} to {most}.")
    return value


def _threshold(value: object, default: int | None) -> int | None:
    return default if value is None else _integer(_THRESHOLD, value, 0, 100)
