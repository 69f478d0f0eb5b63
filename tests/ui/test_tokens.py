import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.tokens import SECRET_FILE, Pass, Signer, TokenError

SIGNER = Signer(b"one secret")


@given(st.text(), st.sampled_from(["seeker", "provider"]), st.booleans(), st.booleans())
def test_a_token_says_what_was_signed(episode: str, seat: str, company: bool, host: bool) -> None:
    signed = Pass(episode, seat, company, host, holder="somebody")
    assert SIGNER.read(SIGNER.sign(signed)) == signed


@given(st.text(), st.sampled_from(["seeker", "provider"]), st.booleans(), st.booleans())
def test_an_invitation_opens_nothing(episode: str, seat: str, company: bool, host: bool) -> None:
    signed = Pass(episode, seat, company, host)
    token = SIGNER.sign(signed)
    assert SIGNER.read_any(token) == signed
    if not signed.is_invitation:
        assert SIGNER.read(token) == signed
        return
    with pytest.raises(TokenError, match="taken"):
        SIGNER.read(token)


def test_a_holder_is_called_otherwise_in_every_seat() -> None:
    seats = [Pass("e", "seeker"), Pass("e", "provider"), Pass("f", "seeker")]
    names = {SIGNER.holder(seat, key) for seat in seats for key in ("browser one", "browser two")}
    assert len(names) == 6 and not any("browser" in name for name in names)
    assert SIGNER.holder(seats[0], "browser one") == SIGNER.holder(seats[0], "browser one")


def test_links_of_the_first_version_stay_good() -> None:
    token = "WyJwbGF5L29uZSIsInNlZWtlciIsMCwwXQ.CTE1Ok3i-3WqJdajSHor7wWbkOmkfvEsD4TH6R2DV4I"
    assert SIGNER.read(token) == Pass("play/one", "seeker")


@given(st.data())
def test_a_changed_token_is_refused(data: st.DataObject) -> None:
    token = SIGNER.sign(Pass("play/one", "seeker"))
    at = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.characters(codec="ascii"))
    changed = token[:at] + letter + token[at + 1 :]
    if changed == token:
        return
    with pytest.raises(TokenError):
        SIGNER.read(changed)


@given(st.text())
def test_any_text_is_refused_with_its_own_error(text: str) -> None:
    with pytest.raises(TokenError):
        SIGNER.read(text)


def test_the_other_seat_needs_another_token() -> None:
    seeker, provider = (SIGNER.sign(Pass("play/one", seat)) for seat in ("seeker", "provider"))
    mixed = f"{provider.partition('.')[0]}.{seeker.partition('.')[2]}"
    with pytest.raises(TokenError, match="not made by this server"):
        SIGNER.read(mixed)


def test_another_server_refuses() -> None:
    with pytest.raises(TokenError):
        Signer(b"another secret").read(SIGNER.sign(Pass("play/one", "seeker")))


def test_the_secret_stays_and_is_its_owners_alone(tmp_path) -> None:
    home = tmp_path / "not" / "there"
    token = Signer.at(home).sign(Pass("play/one", "seeker"))
    assert Signer.at(home).read(token) == Pass("play/one", "seeker")
    assert stat.S_IMODE((home / SECRET_FILE).stat().st_mode) == 0o600
    assert [path.name for path in home.iterdir()] == [SECRET_FILE]


def test_servers_that_start_together_share_one_secret(tmp_path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = set(pool.map(lambda _: Signer.at(tmp_path).sign(Pass("e", "seeker")), range(32)))
    assert len(tokens) == 1
