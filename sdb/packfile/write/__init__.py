"""Writing packfiles: pack and append.

==============  ===========================================================
``appended``    the result of an append
``countstats``  facts of blocks without statistics, counted from their rows
``malformed``   what becomes of malformed records
``findings``    what a pack found in values of inputs
``resume``      the part of a packfile that stays when it grows
``pack``        inputs to a new packfile
``append``      inputs to the end of a packfile
==============  ===========================================================
"""
