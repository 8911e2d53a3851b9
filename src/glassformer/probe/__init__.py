"""Looking inside: what a real forward pass computed, what each head does, what would be if it were different.

Plain data and tensors come out; drawing is for others. Without a trace open nothing here touches a model.
"""

from glassformer.probe.attention_layer import AttentionLayer
from glassformer.probe.attention_pass import AttentionPass
from glassformer.probe.capture import Capture, trace
from glassformer.probe.intervention import Intervention, read_interventions
from glassformer.probe.looking import explain, look
from glassformer.probe.question import Question, Subject
from glassformer.probe.traced import Trace

__all__ = [
    "AttentionLayer",
    "AttentionPass",
    "Capture",
    "Intervention",
    "Question",
    "Subject",
    "Trace",
    "explain",
    "look",
    "read_interventions",
    "trace",
]
