from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from reflective_rag.programs.lm.hub import hub_file, locate, model_name
from reflective_rag.signatures.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param("local:Qwen/Qwen2.5-GGUF/q4_k_m.gguf", ("Qwen/Qwen2.5-GGUF", "q4_k_m.gguf"), id="repo-and-file"),
        pytest.param("local:a/b/sub/dir/x.gguf", ("a/b", "sub/dir/x.gguf"), id="file-in-a-folder"),
        pytest.param("local:x.gguf", None, id="bare-file"),
        pytest.param("local:folder/x.gguf", None, id="file-in-one-folder"),
        pytest.param("local:/a/b/c.gguf", None, id="absolute-path"),
        pytest.param("local:~/a/b/c.gguf", None, id="home-path"),
        pytest.param("local:./a/b/c.gguf", None, id="relative-path"),
        pytest.param("local:../a/b/c.gguf", None, id="parent-path"),
        pytest.param("local:a/b c/d.gguf", None, id="space-in-a-name"),
        pytest.param("local:a//b.gguf", None, id="empty-name"),
    ],
)
def test_a_name_of_three_parts_may_be_a_hub_file(spec: str, expected: tuple[str, str] | None) -> None:
    """OWNER/REPO/FILE can be on the hub; anything that looks like a path of this machine cannot."""
    assert hub_file(spec) == expected


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("local:/models/Qwen2.5-1.5B.Q4_K_M.gguf", "local/Qwen2.5-1.5B.Q4_K_M"),
        ("local:Qwen/Qwen2.5-GGUF/q4_k_m.gguf", "local/q4_k_m"),
    ],
    ids=["path", "hub"],
)
def test_a_model_is_named_after_its_file(spec: str, name: str) -> None:
    """The name in caches and reports is the file's, without folders and ending."""
    assert model_name(spec) == name


@pytest.mark.parametrize("spec", ["local:model.bin", "model.gguf", "local:", "", "openai/gpt.gguf", "local:a/b.GGUF"])
def test_a_string_of_another_form_is_a_config_error(spec: str) -> None:
    """The message shows both forms and what came."""
    with pytest.raises(ConfigError, match=r"local:PATH\.gguf or local:OWNER/REPO/FILE\.gguf, got "):
        locate(spec)


def test_a_file_that_exists_is_taken_before_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that looks like a hub name is the file of this machine where there is one."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a" / "b" / "c.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    assert locate("local:a/b/c.gguf") == file.resolve()


def test_a_missing_path_is_a_data_error() -> None:
    """The message names the path and the other form."""
    with pytest.raises(DataError, match=r"no file 'nowhere/x\.gguf'") as caught:
        locate("local:./nowhere/x.gguf")
    assert "local:OWNER/REPO/FILE.gguf" in str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        LocalEntryNotFoundError("cannot find the requested files\nand more"),
        PermissionError(13, "Permission denied"),
        ValueError("Repo id must be in the form owner/name"),
    ],
    ids=["offline", "disk", "name"],
)
def test_a_failed_download_says_what_was_tried_and_what_to_do(
    error: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever the hub library raises becomes one DataError that names the file, the cause and the command by hand."""

    def fail(repo: str, file: str) -> str:
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
    with pytest.raises(DataError, match=r"hf download owner/repo q4\.gguf") as caught:
        locate("local:owner/repo/q4.gguf")
    message = str(caught.value)
    assert type(error).__name__ in message
    assert "none in the hub cache" in message
    assert "and more" not in message


def test_a_hub_file_is_downloaded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file in the hub cache is used without asking the hub."""
    cached: dict[str, str] = {}
    asked = []

    def download(repo: str, file: str) -> str:
        asked.append(file)
        cached[file] = str(tmp_path / file)
        return cached[file]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repo, file: cached.get(file))
    assert locate("local:owner/repo/q4.gguf") == locate("local:owner/repo/q4.gguf") == tmp_path / "q4.gguf"
    assert asked == ["q4.gguf"]


def test_all_parts_of_a_split_model_are_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first part names the model; llama.cpp finds the others beside it."""
    asked = []

    def download(repo: str, file: str) -> str:
        asked.append(file)
        return str(tmp_path / file)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert locate("local:o/r/m-00001-of-00003.gguf") == tmp_path / "m-00001-of-00003.gguf"
    assert asked == ["m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"]
