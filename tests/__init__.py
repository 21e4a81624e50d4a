"""How the suite finds out.

A regular package: without this file, any package of this name in the environment would win over the folder.
"""
