"""Who won, and what becomes of the winner: the ranking, the choice for trainings and operators, the check in the loop.

`rank` decides for everybody. `stages` and `choices` apply it to files; `loop` puts a selected kernel into a training.
"""
