"""What is made of an encoder's ONNX file for an accelerator: passes, ranges, and the proof that each did its work.

This room needs packages of the extra `convert`, which devices do not have; `models.encoders.artefact`, which reads what
is made here, needs none.
"""
