"""A browser without a screen: what the app answers over HTTP."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient


class Browser:
    """Speaks Gradio's calls and keeps every byte that was answered."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.received: list[str] = []
        config = self.get("/config").json()
        (self.component,) = [each["id"] for each in config["components"] if each["type"] == "html"]

    def get(self, path: str, **headers: str) -> Any:
        response = self.client.get(path, headers=headers)
        self.received.append(response.text)
        return response

    def call(self, name: str, **data: Any) -> Any:
        body = {"session_hash": "h", "component_id": self.component, "fn_name": f"call_{name}", "data": data}
        response = self.client.post("/gradio_api/component_server/", json=body)
        assert response.status_code == 200
        self.received.append(response.text)
        return response.json()
