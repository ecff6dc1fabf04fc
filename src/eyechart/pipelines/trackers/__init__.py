"""Trackers that a run reports to: ``--track mlflow``, ``--track wandb``.

======  ==============================================================================
facts   what both are told of a run: parameters and numbers, without folders of this machine
mlflow  MLflow: parameters, metrics with intervals, the page as an artifact
wandb   Weights & Biases, offline unless WANDB_MODE says otherwise
======  ==============================================================================
"""
