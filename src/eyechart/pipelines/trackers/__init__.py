"""Trackers that a run reports to: ``--track mlflow``, ``--track wandb``.

=======  ==============================================================================
tracker  what both have in common: when they are told what, without folders of this machine
mlflow   MLflow: parameters, metrics with intervals, the page as an artifact
wandb    Weights & Biases, offline unless WANDB_MODE says otherwise
=======  ==============================================================================
"""
