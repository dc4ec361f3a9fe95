"""The model registry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _calls
from .._calls import NOT_GIVEN, CallOptions, NotGiven, given, taken
from .._pending import PendingPage
from ..types import AvailableModel, RegistryEntry, RegistryState, RiskTier, TransitionTarget
from .pages import first_page
from .transport import AsyncTransport
from .with_response import wrapped


class AsyncModels:
    """`client.models`. Needs a project key (`pk_`) with the permission `registry`, or `registry.edit` for changes.
    Any key may call `available`.

    Changes are retried only if the gateway certainly has not made them.
    """

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    @property
    def with_response(self) -> AsyncModelsWithResponse:
        """The same methods, with results that include status, headers and metadata."""
        return AsyncModelsWithResponse(self._transport)

    def list(
        self,
        *,
        q: str | None = None,
        state: RegistryState | None = None,
        limit: int | None = None,
        after: str | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> PendingPage[RegistryEntry]:
        """Lists models by name, including those that the project used but that have no entry.

        Iterating over the page yields the models of all pages. A page's `raw` has the project's `enforcement`.

        Args:
            q: Only models whose name contains this text.
            limit: The size of a page, 1 to 100.
            after: The `next` of an earlier page.
        """
        params = given(q=q, state=state, limit=limit, after=after)
        call = _calls.list_models(params, CallOptions(timeout_ms, retries, headers=headers, query=query))
        return PendingPage(first_page(self._transport, call))

    async def available(
        self,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Sequence[AvailableModel]:
        """Lists the models and tiers that the key may use. Any key with the permission `models` may call it."""
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.available_models(options))

    async def get(
        self,
        entry_id: str,
        *,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> RegistryEntry:
        """Gets a model's entry, with its approvals and history."""
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.get_model(entry_id, options))

    async def create(
        self,
        *,
        model: str,
        owner: str | NotGiven | None = NOT_GIVEN,
        purpose: str | NotGiven | None = NOT_GIVEN,
        risk_tier: RiskTier | NotGiven | None = NOT_GIVEN,
        data_classes: Sequence[str] | NotGiven = NOT_GIVEN,
        regions: Sequence[str] | NotGiven = NOT_GIVEN,
        retention: str | NotGiven | None = NOT_GIVEN,
        links: Sequence[str] | NotGiven = NOT_GIVEN,
        review_date: str | NotGiven | None = NOT_GIVEN,
        successor: str | NotGiven | None = NOT_GIVEN,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> RegistryEntry:
        """Registers a model, which becomes `pending`.

        Args:
            model: A name, an alias or `provider/name` from the catalog.
            owner: Who is responsible for the model's use.
            data_classes: Classes of data that may be sent to the model.
            retention: How long the provider keeps the data it receives.
            review_date: A date or an RFC 3339 time.
        """
        params, options = taken(locals(), nullable=True)
        return await self._transport.call(_calls.create_model(params, options))

    async def update(
        self,
        entry_id: str,
        *,
        owner: str | NotGiven | None = NOT_GIVEN,
        purpose: str | NotGiven | None = NOT_GIVEN,
        risk_tier: RiskTier | NotGiven | None = NOT_GIVEN,
        data_classes: Sequence[str] | NotGiven = NOT_GIVEN,
        regions: Sequence[str] | NotGiven = NOT_GIVEN,
        retention: str | NotGiven | None = NOT_GIVEN,
        links: Sequence[str] | NotGiven = NOT_GIVEN,
        review_date: str | NotGiven | None = NOT_GIVEN,
        successor: str | NotGiven | None = NOT_GIVEN,
        sunset_at: str | NotGiven | None = NOT_GIVEN,
        version: int | None = None,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> RegistryEntry:
        """Changes a model's entry. Fields whose arguments are not given keep their values. None clears a field.

        Args:
            version: The `version` that the change is based on. If it is out of date, a ConflictError is raised.
        """
        fields = {
            "owner": owner,
            "purpose": purpose,
            "risk_tier": risk_tier,
            "data_classes": data_classes,
            "regions": regions,
            "retention": retention,
            "links": links,
            "review_date": review_date,
            "successor": successor,
            "sunset_at": sunset_at,
        }
        params = {**fields, **given(version=version)}
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.update_model(entry_id, params, options))

    async def transition(
        self,
        entry_id: str,
        *,
        to: TransitionTarget,
        reason: str | NotGiven | None = NOT_GIVEN,
        version: int | None = None,
        keys: Sequence[str] | None = None,
        sunset_at: str | NotGiven | None = NOT_GIVEN,
        successor: str | NotGiven | None = NOT_GIVEN,
        timeout_ms: int | None = None,
        retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
    ) -> RegistryEntry:
        """Changes a model's state.

        Args:
            reason: Required for `approved`, `restricted` and `blocked`.
            version: The `version` that the change is based on; 0 for a model without an entry.
            keys: IDs of the gateway keys that may use a `restricted` model.
            sunset_at: When a `deprecated` model will be retired.
            successor: The model to use instead; None removes it.
        """
        params = {
            **given(to=to, version=version, keys=keys),
            "reason": reason,
            "sunset_at": sunset_at,
            "successor": successor,
        }
        options = CallOptions(timeout_ms, retries, headers=headers, query=query)
        return await self._transport.call(_calls.transition_model(entry_id, params, options))


class AsyncModelsWithResponse:
    """The methods of `client.models`, with results that include the response."""

    def __init__(self, transport: AsyncTransport) -> None:
        self.list = wrapped(transport, AsyncModels, AsyncModels.list)
        self.available = wrapped(transport, AsyncModels, AsyncModels.available)
        self.get = wrapped(transport, AsyncModels, AsyncModels.get)
        self.create = wrapped(transport, AsyncModels, AsyncModels.create)
        self.update = wrapped(transport, AsyncModels, AsyncModels.update)
        self.transition = wrapped(transport, AsyncModels, AsyncModels.transition)
