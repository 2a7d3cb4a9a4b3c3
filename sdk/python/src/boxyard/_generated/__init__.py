"""Requests and answers of the API, generated from its OpenAPI document."""
