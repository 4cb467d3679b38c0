"""The help of a command: its own options first, then common options under a heading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

CalledT = TypeVar("CalledT", bound="Callable[..., Any] | click.Command")


class CommonOption(click.Option):
    """An option that most commands have."""


class Command(click.Command):
    """A command whose help lists its own options first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options under two headings."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        common = [
            option
            for option in options
            if isinstance(option, CommonOption) or option is self.get_help_option(ctx)
        ]
        own = [option for option in options if option not in common]
        for title, listed in (("Options", own), ("Common options", common)):
            records = [_record(option, ctx) for option in listed if not option.hidden]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _record(option: click.Option, context: click.Context) -> tuple[str, str]:
    """The names of an option, without its older long names, and its help."""
    names, text = option.get_help_record(context) or ("", "")
    for older in [name for name in option.opts if name.startswith("--")][1:]:
        names = names.replace(f", {older}", "")
    return names, text


def command(name: str | None = None) -> Callable[[Callable[..., Any]], Command]:
    """Makes a command from a function, named after the function by default."""
    return click.command(name, cls=Command)


def common_option(*names: str, **settings: Any) -> Callable[[CalledT], CalledT]:
    """Adds an option that most commands have."""
    return click.option(*names, cls=CommonOption, **settings)


class _OptionWithOldName(click.Option):
    """An option whose second name still works, and is no longer shown."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        names, self.opts = self.opts, self.opts[:1]
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = names


def format_option(
    old_name: str, parameter: str, **attributes: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option ``--format``, which had another name in each command."""
    return click.option(
        "--format", old_name, parameter, metavar="FORMAT", cls=_OptionWithOldName, **attributes
    )
