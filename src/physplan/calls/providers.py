"""The kinds of servers that are called: client, own address, key. Packages register theirs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from dataclasses import dataclass

from physplan.calls.addresses import check_url, is_local, is_loopback
from physplan.calls.protocol import Client
from physplan.calls.secrets import Secret, load_secret, need_secret
from physplan.errors import PhysPlanError
from physplan.registry import Registry


@dataclass(frozen=True, kw_only=True)
class Provider:
    """`keyless`: on this machine or its network, such a server may want no key."""

    name: str
    client: str  # "module:Class"
    url: str
    url_variable: str
    keys: tuple[str, ...]
    service: str
    module: str = ""  # of its library, which the extra of its name brings
    keyless: bool = False

    @property
    def chosen_url(self) -> str | None:
        """The address in the environment: the user's own word, as the key beside it is."""
        return os.environ.get(self.url_variable) or None

    def connect(self, base_url: str | None, allow_hosts: Iterable[str]) -> Client:
        """The client of a server, with the key where one is found; without one where none is needed."""
        url, key = self.admitted(base_url, allow_hosts)
        module, _, kind = self.client.partition(":")
        client: Client = getattr(importlib.import_module(module), kind)(key, base_url=url)
        return client

    def admitted(self, base_url: str | None, allow_hosts: Iterable[str]) -> tuple[str, Secret | None]:
        """The address that is asked and the key that it may be sent."""
        url = base_url or self.chosen_url or self.url
        check_url(url)
        key = load_secret(*self.keys)
        if key is None and not (self.keyless and is_local(url)):
            key = need_secret(*self.keys, service=self.service)
        if key is not None:
            self.require_consent(url, allow_hosts)
        return url, key

    def require_consent(self, url: str, allow_hosts: Iterable[str]) -> None:
        """A key goes to its provider, to this machine and to hosts the user named, not to a file's."""
        host, own = check_url(url), check_url(self.url)
        named = {name.lower().removesuffix(".") for name in allow_hosts}
        if self.chosen_url:
            named.add(check_url(self.chosen_url))
        if host == own or host.endswith(f".{own}") or is_loopback(host) or host in named:
            return
        raise PhysPlanError(
            f"Your {self.name} key would be sent to {host}, which is neither {own} nor this machine: add "
            f"--allow-host {host} (in Python: allow_hosts) if you trust it. Files cannot say it."
        )


PROVIDERS = Registry("provider", {}, group="providers")


def find_provider(name: str) -> Provider:
    found: Provider = PROVIDERS.load(name)
    return found
