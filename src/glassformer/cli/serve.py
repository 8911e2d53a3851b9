"""glassformer serve: models over HTTP."""

from pathlib import Path
from typing import Annotated, Any

import typer

from glassformer.cli.report import say


def serve(
    model: Annotated[
        list[str] | None,
        typer.Argument(help="Run or model directories, or NAME=DIR; none: the shipped model."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8000,
    api_key: Annotated[
        str | None, typer.Option(envvar="GLASSFORMER_API_KEY", help="Let in only who shows this.")
    ] = None,
    api_keys_file: Annotated[Path | None, typer.Option(help="A file with one key on each line.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A name that clients may call the server by; may be repeated.")
    ] = None,
    cors: Annotated[list[str] | None, typer.Option(help="An origin whose pages may call the server.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Serve other machines without a key.")] = False,
    explorer: Annotated[bool, typer.Option("--explorer", help="Serve the explorer too.")] = False,
    max_batch_tokens: Annotated[int | None, typer.Option(help="Decoded side by side.")] = None,
    max_wait_ms: Annotated[float | None, typer.Option(help="Wait so long for a second request.")] = None,
    max_queue: Annotated[int | None, typer.Option(help="Requests that may wait.")] = None,
    max_input_tokens: Annotated[int | None, typer.Option(help="Tokens of a sentence.")] = None,
    deadline: Annotated[float | None, typer.Option(help="Seconds until a request is given up.")] = None,
    compat: Annotated[str, typer.Option(help="Routes of others: deepl, openai.")] = "openai",
    quantize: Annotated[str | None, typer.Option(help="int8: multiply in bytes.")] = None,
    metrics_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve /metrics there, and only there.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Requests per second and client; 0: any number.")] = None,
    log_format: Annotated[str, typer.Option(help="json or plain.")] = "json",
    log_text: Annotated[
        bool, typer.Option("--log-text", help="Write what clients send into the log.")
    ] = False,
) -> None:
    """Serve models over HTTP: own routes, and those of LibreTranslate, OpenAI and DeepL.

    glassformer serve

    glassformer serve en-fr=runs/train-en-fr-small-01 --port 8080
    """
    from glassformer.errors import ConfigError
    from glassformer.serving.app import create_app
    from glassformer.serving.server import serve as run
    from glassformer.serving.settings import ServerSettings, named_models, read_keys

    if log_format not in ("json", "plain"):
        raise ConfigError(f"--log-format {log_format}: should be json or plain")
    keys = (api_key.encode(),) if api_key else ()
    settings = ServerSettings(
        named_models(model or ()),
        host,
        port,
        (*keys, *(read_keys(api_keys_file) if api_keys_file else ())),
        tuple(allow_host or ()),
        tuple(cors or ()),
        insecure,
        log_format=log_format,
        log_text=log_text,
        compat=tuple(dict.fromkeys(each.strip() for each in compat.split(",") if each.strip())),
        quantize=quantize,
        metrics_port=metrics_port,
    )
    given = {
        "max_batch_tokens": max_batch_tokens,
        "max_wait_ms": max_wait_ms,
        "max_queue": max_queue,
        "max_input_tokens": max_input_tokens,
        "deadline_seconds": deadline,
        "rate": rate if rate is not None or settings.local else 20.0,
    }
    settings = settings._replace(limits=_limits(given))
    settings.check()
    if not settings.local and not settings.keys:
        say("warning: anybody who can reach this machine can use this server (--insecure)")
    app = create_app(settings, explorer=_explorer(settings) if explorer else None)
    run(settings, app, lambda url: say(f"serving on {url}", f"try: curl {url}/readyz    routes: {url}/docs"))


def _limits(given: dict[str, Any]) -> Any:
    from glassformer.config import read
    from glassformer.serving.limits import Limits

    return read(Limits, {name: value for name, value in given.items() if value is not None}, "serve")


def _explorer(settings: Any) -> Any:
    """The explorer of the same models. A page cannot show a key, so there may be none."""
    from glassformer.decoding.pretrained import shipped_model
    from glassformer.errors import ConfigError
    from glassformer.serving.app import Explorer

    if settings.keys:
        raise ConfigError("--explorer is a page, and pages cannot show a key; serve it on this machine alone")
    try:
        from glassformer.explorer import create_app
        from glassformer.explorer.guard import POLICY
    except ImportError:
        raise ConfigError("--explorer: this installation has no explorer", "glassformer serve") from None
    return Explorer(create_app([directory or shipped_model() for _, directory in settings.models]), POLICY)
